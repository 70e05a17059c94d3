import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headstart.encoding import Columns, Encoding
from headstart.errors import ConfigError, DataError
from headstart.space import Categorical, Constant, Float, Int, Space
from strategies import SEEDS, sampled, spaces


@settings(max_examples=2000, deadline=None)
@given(spaces(), SEEDS)
def test_decode_after_encode_gives_the_same_configs(space: Space, seed: int) -> None:
    encoding = Encoding(space)
    configs = sampled(space, seed, n=3)
    x = encoding.encode(configs)
    assert x.shape == (3, len(encoding.columns))
    assert x.size == 0 or (x.min() >= 0 and x.max() <= 1)
    again = encoding.decode(x)
    assert again == configs
    assert [[type(value) for value in config.values()] for config in again] == [
        [type(value) for value in config.values()] for config in configs
    ]


@settings(max_examples=300, deadline=None)
@given(spaces(), SEEDS)
def test_decode_always_gives_valid_configs(space: Space, seed: int) -> None:
    encoding = Encoding(space)
    x = np.random.default_rng(seed).uniform(-0.5, 1.5, (5, len(encoding.columns)))
    for config in encoding.decode(x):
        assert space.validate(config) == config


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.data())
def test_any_float_comes_back_to_ten_digits(low: float, width: float, data: st.DataObject) -> None:
    space = Space(Float("a", low, low + width))
    value = data.draw(st.floats(low, low + width))
    again = Encoding(space).decode(Encoding(space).encode([{"a": value}]))[0]["a"]
    assert again == pytest.approx(value, abs=1e-9 * width, rel=1e-15)


@settings(max_examples=500, deadline=None)
@given(st.floats(1e-300, 1e300), st.floats(1.001, 1e200), st.data())
def test_floats_typed_with_up_to_ten_digits_come_back_exactly_on_a_log_scale(
    low: float, ratio: float, data: st.DataObject
) -> None:
    high = min(low * ratio, 1e299)
    assume(high >= 1.001 * low)
    space = Space(Float("a", low, high, log=True))
    value = float(f"{data.draw(st.floats(low, high)):.10g}")
    if low <= value <= high:
        assert Encoding(space).decode(Encoding(space).encode([{"a": value}])) == [{"a": value}]


def test_layout() -> None:
    space = Space(
        Float("C", 1e-2, 1e2, log=True),
        Categorical("kernel", ["rbf", "poly", "linear"]),
        Float("gamma", 0, 2, when={"kernel": ["rbf", "poly"]}),
        Int("degree", 2, 6, when={"kernel": "poly"}),
        Categorical("size", ["s", "m", "l"], ordered=True),
        Constant("k", 1, when={"kernel": "rbf"}),
        Categorical("only", ["one"]),
        Categorical("flag", [True, False], when={"kernel": "rbf"}),
    )
    encoding = Encoding(space)
    assert encoding.columns == Columns(
        (
            "numeric",
            *["one-hot"] * 3,
            "numeric",
            "indicator",
            "numeric",
            "indicator",
            "numeric",
            *["one-hot"] * 2,
            "indicator",
        ),
        (0, 1, 1, 1, 2, 2, 3, 3, 4, 7, 7, 7),
    )
    x = encoding.encode(
        [
            {"C": 1.0, "kernel": "poly", "gamma": 0.5, "degree": 3, "size": "l", "only": "one"},
            {"C": 100.0, "kernel": "linear", "size": "m", "only": "one"},
            {"C": 0.01, "kernel": "rbf", "gamma": 2.0, "size": "s", "k": 1, "only": "one", "flag": False},
        ]
    )
    assert x == pytest.approx(
        np.array(
            [
                [0.5, 0, 1, 0, 0.25, 0, 0.25, 0, 1.0, 0, 0, 1],
                [1.0, 0, 0, 1, 0, 1, 0, 1, 0.5, 0, 0, 1],
                [0.0, 1, 0, 0, 1.0, 0, 0, 1, 0.0, 0, 1, 0],
            ]
        )
    )


def test_a_wrong_config_or_row_is_named() -> None:
    encoding = Encoding(Space(Float("a", 0, 1), Int("b", 0, 3)))
    with pytest.raises(ConfigError, match="Float 'a' must lie"):
        encoding.encode([{"a": 0.5, "b": 1}, {"a": 2.0, "b": 1}])
    with pytest.raises(DataError, match=r"rows of 2 columns, got shape \(1, 3\)"):
        encoding.decode(np.zeros((1, 3)))


def test_nothing_to_encode() -> None:
    encoding = Encoding(Space(Constant("a", 1)))
    assert len(encoding.columns) == 0
    assert encoding.encode([{"a": 1}, {"a": 1}]).shape == (2, 0)
    assert encoding.decode(np.empty((2, 0))) == [{"a": 1}, {"a": 1}]
    assert encoding.encode([]).shape == (0, 0)


def test_columns_need_one_group_each() -> None:
    with pytest.raises(DataError, match="2 kinds but 1 groups"):
        Columns(("numeric", "numeric"), (0,))
