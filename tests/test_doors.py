"""A thousand bad inputs at the public doors: each raises a HeadstartError with one readable line.

Each door is a strategy of calls that are known to be wrong, so that a call that goes through fails the test.
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart import Categorical, Constant, Float, HeadstartError, Int, Memory, MetaDataset, Optimizer, Space, TaskData
from headstart.surrogates import GaussianProcess, GaussianProcessSE, PriorGP, Random, RandomForest
from problems import MIXED, PLANE, bowl

EXAMPLES = 1000

Call: TypeAlias = Callable[[], object]
Calls: TypeAlias = st.SearchStrategy[Call]


class Hostile:
    """An object whose every conversion fails, and whose name fills a page."""

    def __repr__(self) -> str:
        return "Hostile()\n" * 500

    def __float__(self) -> float:
        raise RuntimeError("no float")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    __hash__ = None  # pyright: ignore[reportAssignmentType]


TEXT = st.text(max_size=100).map(lambda text: "~" + text)
"""Never the name of anything."""
OBJECTS = st.one_of(
    st.builds(object),
    st.builds(Hostile),
    st.just(int),
    st.just(len),
    st.binary(max_size=5),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.sets(st.integers(), max_size=2),
    st.just(np.zeros((3, 3))),
    st.just(np.array(["a", "b"])),
)
NOT_FINITE = st.sampled_from([math.nan, math.inf, -math.inf, 10**400, -(10**400), np.float32("nan"), np.array(np.inf)])
NO_NUMBER = st.one_of(OBJECTS, TEXT, st.booleans())
NO_FINITE = NO_NUMBER | NOT_FINITE
NO_TEXT = OBJECTS | st.integers() | st.floats() | st.booleans()
FRACTIONS = st.floats(-1e6, 1e6).filter(lambda number: not number.is_integer())
NEGATIVE = st.integers(max_value=-1) | st.floats(max_value=-1e-3, allow_nan=False)
NO_COUNT = NO_NUMBER | FRACTIONS | NEGATIVE | st.sampled_from([math.nan, math.inf, np.float64("-inf")])
"""For counts of at least 0."""


def said(function: Callable[..., object], keyword: str, values: st.SearchStrategy[Any], /, **more: Any) -> Calls:
    """Return calls of ``function`` with one bad keyword among good ones."""
    return values.map(lambda value: partial(function, **{**more, keyword: value}))


def one_of(*calls: Calls) -> Calls:
    return st.one_of(*calls)


PARAMETERS = one_of(
    said(Float, "low", NO_FINITE, name="x", high=1.0),
    said(Float, "high", NO_FINITE, name="x", low=0.0),
    said(Float, "low", st.floats(1.0, 1e300), name="x", high=1.0),
    said(Float, "low", st.floats(max_value=0.0, min_value=-1e300), name="x", high=1.0, log=True),
    said(Float, "log", NO_TEXT.filter(lambda v: not isinstance(v, bool)), name="x", low=1.0, high=2.0),
    said(Float, "default", NO_FINITE | st.floats(1.1, 1e9), name="x", low=0.0, high=1.0),
    said(Int, "low", NO_FINITE | FRACTIONS, name="n", high=10**6),
    said(Int, "high", st.integers(max_value=0) | st.integers(min_value=10**12 + 1), name="n", low=0),
    said(Int, "default", NO_FINITE | FRACTIONS | st.integers(min_value=11), name="n", low=0, high=10),
    said(
        Categorical,
        "choices",
        st.one_of(TEXT, st.integers(), st.just([]), st.just(["a", "a"]), st.just([1, True])),
        name="k",
    ),
    said(Constant, "value", OBJECTS | st.just(math.nan), name="c"),
    st.one_of(NO_TEXT, st.just(""), st.just(" x"), st.just("a\nb"), st.just("x" * 201)).map(
        lambda name: partial(Float, name, 0.0, 1.0)
    ),
    said(Float, "when", TEXT | st.integers() | st.just({"a": []}) | st.just([("a", 1)]), name="x", low=0.0, high=1.0),
)

SPACES = one_of(
    st.one_of(OBJECTS, TEXT, st.none(), st.integers()).map(lambda junk: partial(Space, Float("x", 0, 1), junk)),
    st.just(Space),
    st.just(lambda: Space(Float("x", 0, 1), Int("x", 0, 1))),
    st.just(lambda: Space(Int("a", 0, 1, when={"b": 1}), Int("b", 0, 1, when={"a": 1}))),
    TEXT.map(lambda name: lambda: Space(Int("a", 0, 1, when={name.strip() or "~": 1}))),
    st.integers(2, 10**6).map(lambda value: lambda: Space(Int("a", 0, 1), Int("b", 0, 1, when={"a": value}))),
    st.one_of(OBJECTS, TEXT, st.none()).map(lambda junk: partial(Space.from_dict, junk)),
    st.dictionaries(TEXT, NO_FINITE, max_size=2).map(lambda junk: partial(Space.from_dict, {"parameters": junk})),
    st.sampled_from(["no.toml", "no.json", "no.ini", ".", "\0"]).map(lambda name: partial(Space.load, name)),
    st.one_of(NO_COUNT.filter(lambda junk: not isinstance(junk, dict)), st.just(0)).map(
        lambda points: partial(MIXED.grid, points)
    ),
)

GOOD = {"kernel": "rbf", "C": 1.0, "gamma": 0.1, "depth": 3}
CONFIGS: st.SearchStrategy[Any] = st.one_of(
    OBJECTS,
    TEXT,
    NO_FINITE.map(lambda value: {**GOOD, "C": value}),
    st.floats(1e3, exclude_min=True).map(lambda value: {**GOOD, "C": value}),
    st.one_of(NO_FINITE, FRACTIONS, st.integers(11), NEGATIVE).map(lambda value: {**GOOD, "depth": value}),
    st.one_of(TEXT, NO_TEXT, st.none()).map(lambda value: {**GOOD, "kernel": value}),
    st.floats(1e-4, 1e1).map(lambda value: {**GOOD, "kernel": "linear", "gamma": value}),
    st.sampled_from(sorted(GOOD)).map(lambda gone: {name: value for name, value in GOOD.items() if name != gone}),
    TEXT.map(lambda name: {**GOOD, name: 1}),
    st.integers().map(lambda name: {**GOOD, name: 1}),
)
VALIDATED = CONFIGS.map(lambda config: partial(MIXED.validate, config))

MAKE = partial(Optimizer, PLANE, method="random", seed=0)
OPTIMIZERS = one_of(
    said(Optimizer, "space", st.one_of(OBJECTS, TEXT, st.none(), st.integers())),
    said(MAKE, "direction", TEXT | NO_TEXT),
    said(MAKE, "bounds", NO_NUMBER | st.integers() | st.floats()),
    said(
        MAKE,
        "metafeatures",
        OBJECTS.filter(lambda value: not isinstance(value, list))
        | TEXT
        | st.booleans()
        | st.just([])
        | st.just([1.0, float("nan")]),
    ),
    said(MAKE, "bounds", st.tuples(st.floats(0, 1e9), st.floats(-1e9, 0)) | st.tuples(NO_FINITE, st.just(1e9))),
    said(MAKE, "method", TEXT | OBJECTS | st.none() | st.integers()),
    said(MAKE, "initial_design", TEXT | OBJECTS | st.none() | st.integers()),
    said(MAKE, "initial_trials", NO_COUNT),
    said(MAKE, "acquisition", OBJECTS.filter(lambda o: o is not len) | TEXT | st.integers()),
    said(MAKE, "past", OBJECTS | TEXT | st.integers()),
    said(MAKE, "past", st.integers(3, 9).map(lambda d: MetaDataset((TaskData(np.zeros((2, d)), [0.0, 1.0]),)))),
    said(MAKE, "seed", NO_FINITE | FRACTIONS | NEGATIVE | st.integers(2**63)),
    said(MAKE, "task", NO_TEXT | st.just("")),
    said(MAKE, "metric", NO_TEXT | st.just("")),
    said(MAKE, "memory", OBJECTS | st.integers() | st.just(""), task="t"),
    said(MAKE, "memory", st.just(Path("no/such/folder/m.db")) | st.just("nosql://x"), task="t"),
    said(MAKE, "pool", TEXT | st.integers() | st.just([]) | st.lists(NO_NUMBER, min_size=1, max_size=3)),
    said(MAKE, "pool", NO_FINITE.map(lambda value: [{"x": 0.5, "y": value}])),
    said(Optimizer, "pool", st.integers(1, 3).map(lambda d: np.full((4, d), np.nan)) | st.just([[0.5], [2.0]])),
)

ASKED = Optimizer(PLANE, method="random", seed=0)
TRIAL = ASKED.ask()
ASKED.tell(ASKED.ask(), 1.0)
VALUES = OBJECTS | TEXT | st.booleans()
ASKS = st.one_of(NO_COUNT, st.just(0)).map(lambda n: partial(ASKED.ask, n))
TELLS = one_of(
    VALUES.map(lambda value: partial(ASKED.tell, TRIAL, value)),
    st.floats(-1e9, 1e9).map(lambda value: partial(ASKED.tell, TRIAL, value, failed=True)),
    said(partial(ASKED.tell, TRIAL), "failed", OBJECTS | TEXT | st.none() | st.integers()),
    st.floats(-1e9, 1e9).map(lambda value: partial(ASKED.tell, 1, value)),  # told before
    st.one_of(OBJECTS, TEXT, st.none(), st.booleans(), st.floats(), st.integers(2), st.integers(max_value=-1)).map(
        lambda trial: partial(ASKED.tell, trial, 1.0)
    ),
    said(partial(ASKED.tell, TRIAL, 1.0), "duration", NO_FINITE | NEGATIVE),
    said(
        partial(ASKED.tell, TRIAL, 1.0),
        "metadata",
        TEXT | st.integers() | st.dictionaries(TEXT, st.builds(object), min_size=1),
    ),
    said(partial(ASKED.tell, TRIAL, 1.0), "metadata", st.dictionaries(st.integers(), st.integers(), min_size=1)),
    st.one_of(OBJECTS, TEXT, st.none(), st.integers(2)).map(lambda trial: partial(ASKED.abandon, trial)),
    st.one_of(OBJECTS, TEXT, st.none(), st.integers(2)).map(lambda trial: partial(ASKED.explain, trial)),
)
MIXED_OPTIMIZER = Optimizer(MIXED, method="random", seed=0)
ADDED = one_of(
    CONFIGS.map(lambda config: partial(MIXED_OPTIMIZER.add_observation, config, 1.0)),
    VALUES.map(lambda value: partial(MIXED_OPTIMIZER.add_observation, GOOD, value)),
    said(partial(MIXED_OPTIMIZER.add_observation, GOOD, 1.0), "failed", OBJECTS | TEXT | st.just(True)),
    said(partial(MIXED_OPTIMIZER.add_observation, GOOD, 1.0), "duration", NO_FINITE | NEGATIVE),
)
LOOPS = one_of(
    said(partial(ASKED.optimize, bowl), "n_trials", NO_COUNT),
    said(partial(ASKED.optimize, bowl, n_trials=1), "timeout", NO_FINITE | NEGATIVE),
    said(partial(ASKED.optimize, bowl, n_trials=1), "n_jobs", NO_COUNT | st.just(0)),
    said(partial(ASKED.optimize, bowl, n_trials=1), "catch", TEXT | st.integers() | st.just(KeyboardInterrupt)),
    said(partial(ASKED.optimize, bowl, n_trials=1), "callbacks", TEXT | st.lists(st.integers(), min_size=1)),
    st.one_of(TEXT, st.none(), st.integers()).map(lambda junk: partial(ASKED.optimize, junk, n_trials=1)),
    st.just(lambda: ASKED.optimize(bowl)),
)

ROWS = np.linspace(0.0, 1.0, 6).reshape(3, 2)
DATA = one_of(
    said(TaskData, "y", st.lists(st.floats(-1, 1), max_size=2) | NO_NUMBER, x=ROWS),
    said(TaskData, "y", (OBJECTS | TEXT | NOT_FINITE).map(lambda value: [0.0, value, 1.0]), x=ROWS),
    said(TaskData, "x", TEXT | st.integers() | st.booleans(), y=[1.0, 2.0, 3.0]),
    said(
        TaskData,
        "x",
        (OBJECTS | TEXT | NOT_FINITE | st.floats(1.1, 1e9) | st.floats(-1e9, -0.1)).map(lambda v: [[v], [0], [1]]),
        y=[1, 2, 3],
    ),
    said(TaskData, "bounds", st.tuples(st.floats(1, 9), st.floats(-9, 0)) | st.just((0.0, 0.5)), x=ROWS, y=[0, 1, 2]),
    said(TaskData, "metafeatures", TEXT | NOT_FINITE.map(lambda v: [v]), x=ROWS, y=[0, 1, 2]),
    st.integers(3, 9).map(
        lambda d: lambda: MetaDataset((TaskData(ROWS, [0, 1, 2]), TaskData(np.zeros((1, d)), [0.0])))
    ),
    st.just(lambda: MetaDataset(())),
)

METHODS = one_of(
    *(
        said(method, setting, values)
        for method in (GaussianProcess, GaussianProcessSE)
        for setting, values in (
            ("response", TEXT),
            ("restarts", NO_COUNT),
            ("minimum_observations", NO_COUNT),
            ("noise_floor", NO_FINITE | NEGATIVE),
        )
    ),
    said(GaussianProcess, "nu", st.floats(3.0) | st.floats(max_value=1.0) | TEXT),
    said(GaussianProcessSE, "epochs", NO_COUNT | st.just(0)),
    said(RandomForest, "trees", NO_COUNT | st.just(0)),
    said(RandomForest, "minimum_observations", NO_COUNT),
    said(Random, "minimum_observations", NO_COUNT),
    said(PriorGP, "source", TEXT),
    said(PriorGP, "trees", st.integers(max_value=0) | st.integers(10_001)),
)

REMEMBERED = Memory(":memory:")
REMEMBERED.create_task("t", PLANE)
POINT = {"x": 0.5, "y": 0.5}
NO_NAME = NO_TEXT | st.just("") | st.just(" t") | st.just("x" * 201)
NO_TASK = TEXT | NO_TEXT | st.none()
MEMORIES = one_of(
    st.one_of(OBJECTS.filter(lambda o: not isinstance(o, str)), st.integers(), st.just("nosql://x"), st.just("")).map(
        lambda place: partial(Memory, place)
    ),
    said(partial(Memory, ":memory:"), "timeout", NO_FINITE | NEGATIVE),
    NO_NAME.map(lambda name: partial(REMEMBERED.create_task, name, PLANE)),
    st.one_of(OBJECTS, TEXT, st.none()).map(lambda space: partial(REMEMBERED.create_task, "new", space)),
    said(partial(REMEMBERED.create_task, "new", PLANE), "direction", TEXT | NO_TEXT | st.none()),
    said(partial(REMEMBERED.create_task, "new", PLANE), "seed", NO_COUNT),
    said(partial(REMEMBERED.create_task, "new", PLANE), "metric", NO_NAME),
    said(partial(REMEMBERED.create_task, "t", PLANE), "direction", st.just("maximize")),
    st.just(partial(REMEMBERED.create_task, "t", MIXED)),
    NO_TASK.map(lambda name: partial(REMEMBERED.task, name)),
    NO_TASK.map(lambda name: partial(REMEMBERED.observations, name)),
    NO_TASK.map(lambda name: partial(REMEMBERED.told_order, name)),
    NO_TASK.map(lambda name: partial(REMEMBERED.delete_task, name)),
    NO_TASK.map(lambda name: partial(REMEMBERED.add_trial, name, POINT)),
    said(partial(REMEMBERED.observations, "t"), "since", NO_COUNT),
    CONFIGS.map(lambda config: partial(REMEMBERED.add_trial, "t", config)),
    CONFIGS.map(lambda config: partial(REMEMBERED.add_observation, "t", config, 1.0)),
    (NO_FINITE | st.none()).map(lambda value: partial(REMEMBERED.add_observation, "t", POINT, value)),
    st.integers().map(lambda number: partial(REMEMBERED.finish_trial, "t", number, state="failed")),
    said(partial(REMEMBERED.finish_trial, "t", 0), "state", TEXT | NO_TEXT | st.just("running")),
    st.one_of(OBJECTS, TEXT, st.none()).map(lambda space: partial(REMEMBERED.meta_dataset, space)),
    said(partial(REMEMBERED.meta_dataset, PLANE), "minimum", NO_COUNT),
)

DOORS = {
    "parameters": PARAMETERS,
    "space": SPACES,
    "validate": VALIDATED,
    "Optimizer": OPTIMIZERS,
    "ask": ASKS,
    "tell, abandon, explain": TELLS,
    "add_observation": ADDED,
    "optimize": LOOPS,
    "TaskData and MetaDataset": DATA,
    "surrogates": METHODS,
    "Memory": MEMORIES,
}


@pytest.mark.parametrize("door", DOORS)
def test_bad_input_is_refused_in_one_readable_line(door: str) -> None:
    tried = 0

    @settings(max_examples=math.ceil(EXAMPLES / len(DOORS)), deadline=None, database=None, derandomize=True)
    @given(call=DOORS[door])
    def knock(call: Call) -> None:
        nonlocal tried
        tried += 1
        with pytest.raises(HeadstartError) as caught:
            call()
        message = str(caught.value)
        assert message.strip() == message != ""
        assert "\n" not in message
        assert len(message) < 1000

    knock()
    assert tried >= EXAMPLES / len(DOORS)


def test_nothing_came_of_it() -> None:
    assert [one.state for one in ASKED.trials] == ["running", "complete"]
    assert MIXED_OPTIMIZER.trials == []
    assert [(task.name, task.trials.total) for task in REMEMBERED.tasks()] == [("t", 0)]
    assert REMEMBERED.check() == []
