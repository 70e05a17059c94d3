"""What the demo tunes: one support vector machine on data sets that ship with scikit-learn.

Nothing is loaded from elsewhere. The four tasks made of handwritten digits have no row in common: the images are dealt
out once, by a fixed shuffle.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from headstart.arrays import Array, IntArray
from headstart.errors import SettingsError
from headstart.space import Categorical, Config, Float, Int, Space

SPACE = Space(
    Categorical("kernel", ["rbf", "poly", "linear"]),
    Float("C", 1e-3, 1e3, log=True),
    Float("gamma", 1e-5, 1e1, log=True, when={"kernel": ["rbf", "poly"]}),
    Int("degree", 2, 5, when={"kernel": "poly"}),
)
"""The hyperparameters of scikit-learn's ``SVC``."""

METRIC = "error"
FOLDS = 3
LONGEST_FIT = 20_000
"""Iterations after which the solver gives up; a few settings would otherwise take minutes."""

Data = tuple[Array, IntArray]
"""Rows [n, p] and their classes [n]."""


@dataclass(frozen=True)
class DemoTask:
    """A classification problem on which the support vector machine is tuned."""

    name: str
    about: str
    """What is told apart, in words."""
    load: Callable[[], Data]

    def objective(self) -> Callable[[Config], float]:
        """Return the function to minimise: the share of rows misclassified in cross-validation."""
        rows, classes = self.load()
        return lambda config: cross_validated_error(rows, classes, config)

    def error_of_defaults(self) -> float:
        """Return the error of scikit-learn's own defaults, which lie outside the Space: gamma follows the data."""
        return cross_validated_error(*self.load(), {})


def cross_validated_error(rows: Array, classes: IntArray, config: Config) -> float:
    """Return the share of rows misclassified in stratified cross-validation; always the same folds."""
    # scikit-learn takes a second to import, which only the processes that evaluate should spend
    from sklearn.exceptions import ConvergenceWarning  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.model_selection import StratifiedKFold  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.pipeline import Pipeline  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.preprocessing import StandardScaler  # pyright: ignore[reportMissingTypeStubs]
    from sklearn.svm import SVC  # pyright: ignore[reportMissingTypeStubs]

    settings = cast("dict[str, Any]", config)
    folds: Any = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    wrong = 0
    for train, test in folds.split(rows, classes):
        machine: Any = Pipeline([("scaler", StandardScaler()), ("svc", SVC(**settings, max_iter=LONGEST_FIT))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # such settings count with the error they have
            machine.fit(rows[train], classes[train])
        wrong += int((machine.predict(rows[test]) != classes[test]).sum())
    return wrong / len(classes)


def _digits(part: int) -> Data:
    """Return a quarter of the 1,797 images of handwritten digits."""
    rows, classes = _loaded("load_digits")
    mine = np.random.default_rng(0).permutation(len(classes))[part::4]
    return rows[mine], classes[mine]


def _parity() -> Data:
    rows, classes = _digits(0)
    return rows, classes % 2


def _below_five() -> Data:
    rows, classes = _digits(1)
    return rows, (classes < 5).astype(np.int64)


def _left_half() -> Data:
    rows, classes = _digits(2)
    return rows.reshape(-1, 8, 8)[:, :, :4].reshape(-1, 32), classes


def _ten_digits() -> Data:
    return _digits(3)


def _breast_cancer() -> Data:
    return _loaded("load_breast_cancer")


def _wine() -> Data:
    return _loaded("load_wine")


def _iris() -> Data:
    return _loaded("load_iris")


def _diabetes() -> Data:
    rows, progression = _loaded("load_diabetes")
    return rows, (progression > np.median(progression)).astype(np.int64)


def _loaded(loader: str) -> Data:
    import sklearn.datasets  # pyright: ignore[reportMissingTypeStubs]

    rows, target = getattr(sklearn.datasets, loader)(return_X_y=True)
    return np.asarray(rows, dtype=np.float64), np.asarray(target, dtype=np.int64)


TASKS = (
    DemoTask("digits-parity", "handwritten digits, even or odd", _parity),
    DemoTask("digits-below-five", "handwritten digits, 0 to 4 or 5 to 9", _below_five),
    DemoTask("digits-left-half", "ten handwritten digits of which only the left half is seen", _left_half),
    DemoTask("digits-ten", "ten handwritten digits", _ten_digits),
    DemoTask("breast-cancer", "benign or malignant tumours", _breast_cancer),
    DemoTask("wine", "wines of three growers", _wine),
    DemoTask("iris", "irises of three species", _iris),
    DemoTask("diabetes", "diabetes progressing faster or slower than the median", _diabetes),
)
"""All tasks; one is held back, the others are the past."""


def task_named(name: str) -> DemoTask:
    """Return the task of that name.

    Raises:
        SettingsError: There is none.
    """
    for task in TASKS:
        if task.name == name:
            return task
    raise SettingsError(f"Demo: there is no task {name!r:.80}. The tasks are {', '.join(task.name for task in TASKS)}.")
