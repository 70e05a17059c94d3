"""Real tasks: scikit-learn's classifiers on the data sets that ship with it, nothing loaded from elsewhere.

The value of a configuration is its accuracy in cross-validation, on the tasks and folds of ``headstart demo``. All
tasks of a Space have the same pool of configurations. Each is evaluated once and told to a Memory before the next one
begins: whatever stops the evaluations, they go on from there.
"""

import hashlib
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.problems import Objective, Problem, Suite, SuiteSpace, checked_problem
from headstart.benchmark.settings import named_rng
from headstart.demo import tasks as demo
from headstart.encoding import Encoding
from headstart.errors import SettingsError
from headstart.memory import Memory
from headstart.numerics.low_discrepancy import sobol
from headstart.protocols import Progress
from headstart.space import Categorical, Config, Float, Int, Space, units
from headstart.space.values import is_count, shown

VERSION = 1
"""Goes up with every change of Spaces, tasks or folds."""
CONFIGURATIONS = 200
GIVEN, TRIALS = 5, 50
SEEDS = ("test0", "test1", "test2", "test3", "test4")
TREES = 20


@dataclass(frozen=True, eq=False)
class Classifier:
    """A Space, and what its configurations mean."""

    space: Space
    make: Callable[[Mapping[str, Any]], Any]
    """Returns scikit-learn's estimator of a configuration."""


def _svc(config: Mapping[str, Any]) -> Any:
    from sklearn.pipeline import Pipeline  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.preprocessing import StandardScaler  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.svm import SVC  # pyright: ignore[reportMissingTypeStubs]

    return Pipeline([("scaler", StandardScaler()), ("svc", SVC(**config, max_iter=demo.LONGEST_FIT))])


def _forest(config: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import RandomForestClassifier  # pyright: ignore[reportMissingTypeStubs]

    return RandomForestClassifier(**config, n_estimators=TREES, random_state=0)


def _neighbours(config: Mapping[str, Any]) -> Any:
    from sklearn.decomposition import PCA  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.neighbors import KNeighborsClassifier  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.pipeline import Pipeline  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.preprocessing import MinMaxScaler, StandardScaler  # pyright: ignore[reportMissingTypeStubs]

    scalers = {"none": "passthrough", "standard": StandardScaler(), "minmax": MinMaxScaler()}
    projection = PCA(config["variance"], svd_solver="full") if config["projection"] == "pca" else "passthrough"
    settings = {name: config[name] for name in ("n_neighbors", "weights", "metric")}
    # the trees that are the default for some metrics are slower here than comparing with every row
    neighbours = KNeighborsClassifier(**settings, algorithm="brute")
    return Pipeline([("scaler", scalers[config["scaling"]]), ("projection", projection), ("neighbours", neighbours)])


CLASSIFIERS = {
    "svc": Classifier(demo.SPACE, _svc),
    "forest": Classifier(
        Space(
            Categorical("criterion", ["gini", "entropy"]),
            Int("max_depth", 1, 20, log=True),
            Float("max_features", 0.05, 1.0),
            Int("min_samples_leaf", 1, 50, log=True),
            Categorical("bootstrap", [True, False]),
            Float("max_samples", 0.1, 1.0, when={"bootstrap": True}),
        ),
        _forest,
    ),
    "neighbours": Classifier(
        Space(
            Int("n_neighbors", 1, 80, log=True),
            Categorical("weights", ["uniform", "distance"]),
            Categorical("metric", ["euclidean", "manhattan", "chebyshev"]),
            Categorical("scaling", ["none", "standard", "minmax"]),
            Categorical("projection", ["none", "pca"]),
            Float("variance", 0.3, 0.999, when={"projection": "pca"}),
        ),
        _neighbours,
    ),
}


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a classifier on a task, as a function of a Config. It pickles as the two names."""

    classifier: str
    task: str

    def __call__(self, config: Config) -> float:
        """Return the share of rows classified rightly in cross-validation; always the same folds."""
        from sklearn.exceptions import ConvergenceWarning  # pyright: ignore[reportMissingTypeStubs]
        from sklearn.model_selection import StratifiedKFold  # pyright: ignore[reportMissingTypeStubs]

        rows, classes = _data(self.task)
        folds: Any = StratifiedKFold(demo.FOLDS, shuffle=True, random_state=0)
        right = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # such settings count with the accuracy they have
            for train, test in folds.split(rows, classes):
                model = CLASSIFIERS[self.classifier].make(config).fit(rows[train], classes[train])
                right += int((model.predict(rows[test]) == classes[test]).sum())
        return right / len(classes)


@lru_cache(maxsize=len(demo.TASKS))
def _data(task: str) -> demo.Data:
    return demo.task_named(task).load()


def sklearn_suite(
    cache: Path,
    *,
    spaces: Collection[str] | None = None,
    tasks: Collection[str] | None = None,
    configurations: int = CONFIGURATIONS,
    progress: Progress | None = None,
) -> Suite:
    """Return the suite, each task to be left out in turn; the first call evaluates for two minutes.

    Args:
        cache: The Memory that keeps the evaluations; made if it is not there. Its folder must be there.
        spaces: Names of classifiers; all when None.
        tasks: Names of the demo's tasks; all when None.
        configurations: Of each pool. More of them contain fewer, so that nothing is evaluated again.
        progress: Called after every evaluation that was necessary.

    Raises:
        SettingsError: There is no classifier or task of that name, or too few configurations.
        MemoryStoreError: The cache cannot be opened.
    """
    if not is_count(configurations, 2):
        raise SettingsError(
            f"scikit-learn suite: configurations must be a whole number of at least 2, got {shown(configurations)}."
        )
    names = list(CLASSIFIERS) if spaces is None else list(dict.fromkeys(spaces))
    for name in names:
        if name not in CLASSIFIERS:
            raise SettingsError(
                f"scikit-learn suite: there is no space {shown(name)}. The spaces are {', '.join(CLASSIFIERS)}."
            )
    kept = [task.name for task in demo.TASKS] if tasks is None else [demo.task_named(task).name for task in tasks]
    pools = {name: _pool(name, configurations) for name in names}
    with Memory(cache) as memory:
        values = _evaluated(memory, pools, kept, progress)
    digest = hashlib.sha256("\0".join([_edition(), *names, *kept]).encode())
    made: list[SuiteSpace] = []
    for name, configs in pools.items():
        encoding = Encoding(CLASSIFIERS[name].space)
        x = encoding.encode(configs)
        x.setflags(write=False)
        problems = tuple(_problem(name, task, x, values[name, task]) for task in kept)
        for problem in problems:
            digest.update(problem.x.tobytes() + problem.y.tobytes())
        made.append(SuiteSpace(name, encoding.columns, (), (), problems, leave_one_out=True))
    return Suite("scikit-learn", tuple(made), digest.hexdigest()[:16], given=GIVEN, trials=TRIALS)


def _pool(name: str, count: int) -> list[Config]:
    """Return ``count`` different configurations that cover the Space evenly."""
    space = CLASSIFIERS[name].space
    points = sobol(8 * count, len(space), rng=named_rng("sklearn", VERSION, name, "pool"))
    configs = units.to_configs(space, units.from_quantiles(space, points))
    distinct: dict[tuple[object, ...], Config] = {}
    for config in configs:
        distinct.setdefault(space.key(config), config)
    return list(distinct.values())[:count]


def _evaluated(
    memory: Memory, pools: Mapping[str, list[Config]], tasks: Collection[str], progress: Progress | None
) -> dict[tuple[str, str], Array]:
    """Return the accuracies of all pools on all tasks; what the memory lacks is evaluated and told to it."""
    known: dict[tuple[str, str], dict[tuple[object, ...], float]] = {}
    missing: list[tuple[str, str, Config]] = []
    for name, configs in pools.items():
        space = CLASSIFIERS[name].space
        for task in tasks:
            memory.create_task(
                _stored_name(name, task), space, direction="maximize", metric="accuracy", source="benchmark"
            )
            told = memory.observations(_stored_name(name, task))
            found = {space.key(one.config): one.value for one in told if one.value is not None}
            known[name, task] = found
            missing += [(name, task, config) for config in configs if space.key(config) not in found]
    for done, (name, task, config) in enumerate(missing, start=1):
        value = Accuracy(name, task)(config)
        memory.add_observation(_stored_name(name, task), config, value, origin="pool")
        known[name, task][CLASSIFIERS[name].space.key(config)] = value
        if progress is not None:
            progress(done, len(missing), f"evaluated {name} on {task}")
    return {
        (name, task): np.array([found[CLASSIFIERS[name].space.key(config)] for config in pools[name]])
        for (name, task), found in known.items()
    }


def _edition() -> str:
    """Return what accuracies depend on besides configuration and task."""
    return f"scikit-learn {version('scikit-learn')}, suite {VERSION}"


def _stored_name(name: str, task: str) -> str:
    """Return the name of a task in the cache; values of another scikit-learn are others, and stay beside."""
    return f"{name} on {task} ({_edition()})"


def _problem(name: str, task: str, x: Array, y: Array) -> Problem:
    """Return the problem; in the whole Space the pool's best and worst accuracy count as the ends of the range."""
    given = {
        seed: tuple(named_rng("given", VERSION, name, task, seed).permutation(len(y))[:GIVEN].tolist())
        for seed in SEEDS
    }
    objective = Objective(CLASSIFIERS[name].space, Accuracy(name, task), float(y.min()), float(y.max()))
    return checked_problem(Problem(name, task, x, y, given=given, objective=objective), "scikit-learn suite")
