import contextlib
import itertools
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import ConfigError, HeadstartError, SpaceError
from headstart.space import Categorical, Constant, Float, Int, Space
from headstart.space import units as unit_rows
from strategies import SEEDS, sampled, spaces


def svm() -> Space:
    return Space(
        Float("C", 1e-3, 1e3, log=True),
        Categorical("kernel", ["rbf", "poly", "linear"]),
        Float("gamma", 1e-4, 1e1, log=True, when={"kernel": ["rbf", "poly"]}),
        Int("degree", 2, 5, when={"kernel": "poly"}),
        Float("coef0", -1.0, 1.0, when={"kernel": "poly", "degree": [3, 5]}),
        Constant("cache", 200),
    )


def test_validate_puts_in_order_and_makes_plain() -> None:
    config = {"cache": 200.0, "degree": np.float64(4.0), "kernel": np.str_("poly"), "gamma": np.float32(0.5), "C": 1}
    found = svm().validate(config)
    assert found == {"C": 1.0, "kernel": "poly", "gamma": 0.5, "degree": 4, "cache": 200}
    assert list(found) == ["C", "kernel", "gamma", "degree", "cache"]
    assert {type(value) for value in found.values()} == {float, str, int}


def test_none_for_a_parameter_that_does_not_apply_is_absence() -> None:
    assert svm().validate(
        {"C": 1.0, "kernel": "linear", "gamma": None, "degree": None, "coef0": None, "cache": 200}
    ) == {
        "C": 1.0,
        "kernel": "linear",
        "cache": 200,
    }


RBF: dict[str, Any] = {"C": 1.0, "kernel": "rbf", "gamma": 0.1, "cache": 200}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": 1e4}, r"Float 'C' must lie in \[0.001, 1000.0\], got 10000.0"),
        ({"C": math.nan}, "Float 'C' must be a finite number, got nan"),
        ({"C": math.inf}, "finite number, got inf"),
        ({"C": True}, "Float 'C' must be a finite number, got True"),
        ({"C": "1.0"}, "Float 'C' must be a finite number, got '1.0'"),
        ({"C": None}, "Float 'C' must be a finite number, got None"),
        ({"C": [1.0]}, "Float 'C' must be a finite number"),
        ({"C": 10**400}, "Float 'C' must be a finite number"),
        ({"kernel": "rbv"}, r"Categorical 'kernel' must be one of \['rbf', 'poly', 'linear'\], got 'rbv'"),
        ({"kernel": ["rbf"]}, "Categorical 'kernel' must be one of"),
        ({"degree": 3}, "'degree' applies only where kernel is 'poly', got 3"),
        ({"cache": 100}, "Constant 'cache' must be 200, got 100"),
        ({"gama": 1.0}, "no parameter 'gama'. Did you mean 'gamma'?"),
        ({1: 1.0}, "no parameter 1"),
    ],
)
def test_validate_names_parameter_rule_and_value(change: dict[Any, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        svm().validate({**RBF, **change})
    assert not svm().contains({**RBF, **change})
    with pytest.raises(ConfigError, match=words):
        unit_rows.from_configs(svm(), [RBF, {**RBF, **change}])


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(ConfigError, match=r"'gamma' is missing.*0.0001 to 10.0"):
        svm().validate({"C": 1.0, "kernel": "rbf", "cache": 200})
    with pytest.raises(ConfigError, match="must map names to values"):
        svm().validate([("C", 1.0)])  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [True, 2.5, "3", math.nan, math.inf, None, 10**400, 1, 6])
def test_int_refuses_what_is_no_whole_number_of_its_range(value: object) -> None:
    with pytest.raises(ConfigError, match="Int 'n' must"):
        Space(Int("n", 2, 5)).validate({"n": value})


def test_true_is_not_one() -> None:
    assert not Space(Categorical("a", [1, 2])).contains({"a": True})
    assert not Space(Categorical("a", [True, False])).contains({"a": 1})
    assert Space(Categorical("a", [1, 2])).validate({"a": 1.0}) == {"a": 1}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Float("lr", 0.1, 0.01),
            "Float 'lr': low must be smaller than high, got low=0.1, high=0.01. Swap them.",
        ),
        (
            lambda: Float("lr", 1, 1),
            r"Float 'lr': low must be smaller than high, got 1.0 for both.*Constant\('lr', 1.0\)",
        ),
        (lambda: Float("lr", 0, 1, log=True), "log scale needs low > 0, got low=0"),
        (lambda: Float("lr", math.nan, 1), "low must be a finite number, got nan"),
        (lambda: Float("lr", 0, math.inf), "high must be a finite number, got inf"),
        (lambda: Float("lr", -1e308, 1e308), "high - low must be at most"),
        (lambda: Float("lr", 1.0, 1.0 + 1e-15), "too close"),
        (lambda: Float("lr", True, 2), "low must be a finite number, got True"),
        (lambda: Float("lr", 0, 1, log="yes"), "log must be True or False, got 'yes'"),
        (
            lambda: Float("lr", 0, 1, default=2),
            r"its default does not fit. Float 'lr' must lie in \[0.0, 1.0\], got 2.0",
        ),
        (lambda: Float("", 0, 1), "name of a parameter must be"),
        (lambda: Float(" a", 0, 1), "name of a parameter must be"),
        (lambda: Float("a\n", 0, 1), "name of a parameter must be"),
        (lambda: Float(3, 0, 1), "name of a parameter must be"),
        (lambda: Int("n", 1.5, 3), "low must be a whole number, got 1.5"),
        (lambda: Int("n", False, 3), "low must be a whole number, got False"),
        (lambda: Int("n", 0, 10**13), "must lie within"),
        (lambda: Int("n", 3, 2), "low must be smaller than high"),
        (lambda: Int("n", 0, 3, log=True), "log scale needs low >= 1"),
        (lambda: Categorical("c", []), "choices must not be empty"),
        (lambda: Categorical("c", "abc"), "choices must be a list, got 'abc'"),
        (lambda: Categorical("c", {"a": 1}), "choices must be a list"),
        (lambda: Categorical("c", ["a", "a"]), "choices must differ, got 'a' and 'a'"),
        (lambda: Categorical("c", [1, True]), "choices must differ, got 1 and True"),
        (lambda: Categorical("c", [1, 1.0]), "choices must differ, got 1 and 1.0"),
        (lambda: Categorical("c", [math.nan]), "a choice must be finite"),
        (lambda: Categorical("c", [(1, 2)]), "must be text, a number"),
        (lambda: Categorical("c", [[1]]), "must be text, a number"),
        (lambda: Categorical("c", ["\ud800"]), "lone surrogate"),
        (lambda: Categorical("c", ["a"], default="b"), "its default does not fit"),
        (lambda: Constant("k", math.inf), "must be finite"),
        (lambda: Space(), "has no parameters"),
        (lambda: Space({"a": 1}), "must be a Float, Int, Categorical or Constant"),
        (lambda: Space(Float("a", 0, 1), Float("a", 0, 2)), "two parameters are called 'a'"),
        (lambda: Space(Float("a", 0, 1, when={"b": 1})), "names 'b', which this Space does not have"),
        (lambda: Space(Float("a", 0, 1), Float("b", 0, 1, when={"a": 0.5})), "names Float 'a'"),
        (
            lambda: Space(Categorical("a", ["x"]), Float("b", 0, 1, when={"a": "y"})),
            "Float 'b': when can never hold. Categorical 'a' must be one of",
        ),
        (lambda: Float("a", 0, 1, when={"b": []}), "gives no value for 'b'"),
        (lambda: Float("a", 0, 1, when="b"), "when must map"),
        (lambda: Float("a", 0, 1, when=["b"]), "when must map"),
        (lambda: Float("a", 0, 1, when=("b",)), "when must map"),
        (lambda: Space(Int("a", 0, 1, when={"a": 1})), "go in a circle"),
        (
            lambda: Space(Int("a", 0, 1, when={"b": 1}), Int("b", 0, 1, when={"c": 1}), Int("c", 0, 1, when={"a": 0})),
            "conditions of 'a' and 'b' and 'c' go in a circle",
        ),
    ],
)
def test_what_is_not_well_formed_is_refused_in_words(make: Any, words: str) -> None:
    with pytest.raises(SpaceError, match=words):
        make()


def test_numpy_scalars_and_sequences_are_welcome() -> None:
    space = Space(
        Float("a", np.float32(0.0), np.int64(1)),
        Int("b", np.int32(1), np.float64(4.0)),
        Categorical("c", np.array([1, 2, 3])),
        Float("d", 0, 1, when={"c": np.int64(2)}),
    )
    assert [type(bound) for p in (space["a"], space["b"]) for bound in (p.low, p.high)] == [float, float, int, int]  # type: ignore[union-attr]
    assert space["c"].choices == (1, 2, 3)  # type: ignore[union-attr]
    assert space.contains({"a": 0.5, "b": 2, "c": 2, "d": 0.1})


@settings(max_examples=300, deadline=None)
@given(spaces(), SEEDS)
def test_samples_and_neighbours_are_valid_and_canonical(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for config in space.sample(4, rng=rng):
        assert space.validate(config) == config
        near = space.neighbours(config, 6, rng=rng)
        keys = {space.key(one) for one in near}
        assert len(keys) == len(near)
        assert space.key(config) not in keys
        assert all(space.validate(one) == one for one in near)
        assert near or space.size == 1


@settings(max_examples=300, deadline=None)
@given(spaces())
def test_files_and_plain_data_lose_nothing(space: Space) -> None:
    import tomllib

    for again in (
        Space.from_dict(space.to_dict()),
        Space.from_dict(json.loads(json.dumps(space.to_dict()))),
        Space.from_dict(tomllib.loads(space.to_toml())),
        pickle.loads(pickle.dumps(space)),
    ):
        assert again.parameters == space.parameters
        assert [type(p) for p in again] == [type(p) for p in space]
        assert repr(again.to_dict()) == repr(space.to_dict())  # repr: 1, 1.0 and True are equal otherwise
        assert again.fingerprint == space.fingerprint


@settings(max_examples=100, deadline=None)
@given(spaces(), st.randoms())
def test_fingerprint_ignores_order_and_defaults_only(space: Space, random: Any) -> None:
    described = space.to_dict()["parameters"]
    names = list(described)
    random.shuffle(names)
    shuffled = {name: {k: v for k, v in described[name].items() if k != "default"} for name in names}
    for one in shuffled.values():
        if one["type"] == "categorical" and not one.get("ordered"):
            random.shuffle(one["choices"])
    assert Space.from_dict({"parameters": shuffled}).fingerprint == space.fingerprint
    assert Space(*space, Constant("one more parameter", 1)).fingerprint != space.fingerprint


def test_fingerprint_is_the_same_on_every_machine_and_day() -> None:
    assert svm().fingerprint == "30ec42aac4860759340d556860d907c5"
    others = [
        Space(Float("a", 0, 1)),
        Space(Float("a", 0, 2)),
        Space(Float("b", 0, 1)),
        Space(Float("a", 1e-9, 1, log=True)),
        Space(Int("a", 0, 1)),
        Space(Categorical("a", [0, 1])),
        Space(Categorical("a", [0, 1], ordered=True)),
        Space(Categorical("a", [1, 0], ordered=True)),
        Space(Categorical("a", ["0", "1"])),
        Space(Categorical("a", [False, True])),
        Space(Constant("a", 1)),
        Space(Float("a", 0, 1, when={"b": 1}), Int("b", 0, 1)),
        Space(Float("a", 0, 1, when={"b": 0}), Int("b", 0, 1)),
    ]
    assert len({space.fingerprint for space in others}) == len(others)


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_save_and_load(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"space.{ending}"
    space = Space(*svm(), Categorical("odd \" 'name.é", [None, '\x7f\t"\\', "𝛼", 1e-7, -3, True]))
    space.save(path)
    assert Space.load(path) == space
    assert Space.load(str(path)).fingerprint == space.fingerprint


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "s.toml",
            "[parameters.a]\ntype = 'float'\nlow = 0\n",
            "Parameter 'a': 'high' is missing. A float needs high, low",
        ),
        (
            "s.toml",
            "[parameters.a]\ntype = 'floot'\n",
            "type must be one of float, int, categorical, constant, got 'floot'",
        ),
        (
            "s.toml",
            "[parameters.a]\ntype = 'float'\nlow=0\nhigh=1\ndefalt=1",
            "a float has no 'defalt'. Did you mean 'default'?",
        ),
        ("s.toml", "[a]\n", "A Space is described as"),
        ("s.toml", "parameters = 3", "parameters must map names"),
        ("s.toml", "parameters = {a = 3}", "its description must be a table"),
        ("s.toml", "parameters = {}", "has no parameters"),
        ("s.toml", "[[[", "is not valid TOML"),
        ("s.toml", "[parameters.a]\ntype = 'float'\nlow = nan\nhigh = 1", "low must be a finite number, got nan"),
        ("s.json", "{", "is not valid JSON"),
        ("s.json", "[" * 100_000, "is not valid JSON"),
        ("s.json", '{"parameters": {"a": {"type": "float", "low": NaN, "high": 1}}}', "NaN is no value"),
        ("s.json", '{"parameters": {"a": {"type": "constant", "value": 1, "value": 2}}}', "'value' stands there twice"),
        ("s.json", '{"parameters": {"a": {"type": "int", "low": 1, "high": 2, "default": null}}}', "must be a number"),
        ("s.json", '{"parameters": {"a": {"type": "categorical", "choices": {"b": 1}}}}', "choices must be a list"),
        ("s.json", '{"parameters": {"a": {"type": "categorical", "choices": [1], "default": null}}}', "is no choice"),
        ("s.yaml", "a: 1", r"ends in .toml or .json"),
    ],
)
def test_a_wrong_file_gives_one_line_that_names_it(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SpaceError, match=words) as caught:
        Space.load(path)
    assert "\n" not in str(caught.value).strip()


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(SpaceError, match="cannot be read: No such file"):
        Space.load(tmp_path / "none.toml")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpaceError, match="is not text in UTF-8"):
        Space.load(tmp_path / "binary.json")
    with pytest.raises(SpaceError, match="cannot be written"):
        svm().save(tmp_path / "no folder" / "space.toml")


def test_sampling_is_uniform_in_each_scale() -> None:
    space = Space(
        Float("lin", -2.0, 2.0),
        Float("log", 1e-4, 1.0, log=True),
        Int("int", 1, 4),
        Int("intlog", 1, 100, log=True),
        Categorical("cat", ["a", "b", "c"]),
        Categorical("ord", [1, 2, 3], ordered=True),
    )
    configs = space.sample(6000, rng=np.random.default_rng(0))

    def column(name: str) -> list[Any]:
        return [config[name] for config in configs]

    assert np.mean(np.array(column("lin")) < -1) == pytest.approx(0.25, abs=0.03)
    assert np.mean(np.array(column("log")) < 1e-3) == pytest.approx(0.25, abs=0.03)
    for value in (1, 2, 3, 4):  # no half share at the ends
        assert column("int").count(value) / 6000 == pytest.approx(0.25, abs=0.03)
    assert np.mean(np.array(column("intlog")) <= 9) == pytest.approx(np.log(9.5 / 0.5) / np.log(100.5 / 0.5), abs=0.03)
    for name in ("cat", "ord"):
        for value in set(column(name)):
            assert column(name).count(value) / 6000 == pytest.approx(1 / 3, abs=0.03)


def brute_force(space: Space, values: dict[str, list[Any]]) -> set[tuple[object, ...]]:
    """All configurations whose parameters take the given values: every subset of names, tried by validate()."""
    found: set[tuple[object, ...]] = set()
    absent = object()
    for row in itertools.product(*([absent, *values[name]] for name in space.names)):
        config = {name: value for name, value in zip(space.names, row, strict=True) if value is not absent}
        if space.contains(config):
            found.add(space.key(space.validate(config)))
    return found


def small_spaces() -> list[Space]:
    return [
        Space(Int("a", 1, 3), Categorical("b", ["x", "y"])),
        Space(
            Int("depth", 1, 2, when={"model": "tree"}),
            Categorical("model", ["tree", "net"]),
            Int("layers", 1, 3, when={"model": "net"}),
            Int("width2", 1, 2, when={"layers": [2, 3]}),
            Int("width3", 1, 2, when={"layers": 3, "model": "net"}),
        ),
        Space(
            Categorical("a", [1, 2, 3]), Constant("k", "v", when={"a": [1, 2]}), Int("n", 1, 2, when={"k": "v", "a": 2})
        ),
        Space(Int("n", 1, 5), Categorical("c", [True, False, None], when={"n": [2, 3]})),
    ]


@pytest.mark.parametrize("space", small_spaces())
def test_grid_and_size_agree_with_trying_everything(space: Space) -> None:
    values = {p.name: p.values(p.spread(100)) for p in space}
    expected = brute_force(space, values)
    grid = space.grid(100)
    assert {space.key(config) for config in grid} == expected
    assert len(grid) == len(expected) == space.size


def test_grid_of_numbers() -> None:
    space = Space(Float("a", 1e-2, 1e2, log=True), Int("b", 1, 10), Float("c", 0, 1))
    grid = space.grid({"a": 5, "b": 2, "c": 1})
    assert len(grid) == 10
    assert sorted({config["a"] for config in grid}) == [0.01, 0.1, 1.0, 10.0, 100.0]
    assert {config["b"] for config in grid} == {1, 10}
    assert {config["c"] for config in grid} == {0.5}
    assert space.size == math.inf
    with pytest.raises(SpaceError, match="more than 1000000"):
        space.grid(1001)
    with pytest.raises(SpaceError, match="whole number of at least 1"):
        space.grid(0)


def test_default() -> None:
    assert svm().default is None
    space = Space(Categorical("kernel", ["rbf", "poly"], default="poly"), Int("degree", 2, 8, when={"kernel": "poly"}))
    assert space.default == {"kernel": "poly", "degree": 5}
    assert Space(Float("a", 0, 1, default=0.25), Categorical("b", [None, 1], default=None)).default == {
        "a": 0.25,
        "b": None,
    }


def test_neighbours_change_one_parameter_and_what_hangs_on_it() -> None:
    space = svm()
    rng = np.random.default_rng(1)
    config = {"C": 1.0, "kernel": "linear", "cache": 200}
    for near in space.neighbours(config, 50, rng=rng):
        changed = {name for name in ("C", "kernel") if near[name] != config[name]}
        assert len(changed) == 1
        assert ("gamma" in near) == (near["kernel"] != "linear")


def test_container_behaviour() -> None:
    space = svm()
    assert len(space) == 6
    assert [p.name for p in space] == list(space.names)
    assert space["C"] == Float("C", 1e-3, 1e3, log=True)
    with pytest.raises(SpaceError, match="no parameter 'c'"):
        space["c"]
    assert space == svm()
    assert hash(space) == hash(svm())
    assert space != Space(*reversed(svm().parameters))
    assert (
        eval(
            repr(space), {"Space": Space, "Float": Float, "Int": Int, "Categorical": Categorical, "Constant": Constant}
        )
        == space
    )


_JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.builds(object),
    st.just(np.array([1.0, 2.0])),
    st.just(np.datetime64("2020-01-01")),
)


@settings(max_examples=1000, deadline=None)
@given(st.sampled_from(["float", "int", "categorical", "constant", "validate", "dict", "when"]), _JUNK, _JUNK, _JUNK)
def test_bad_input_at_every_door_gives_a_headstart_error_or_works(door: str, a: Any, b: Any, c: Any) -> None:
    doors: dict[str, Any] = {
        "float": lambda: Float(a, b, c),
        "int": lambda: Int("n", b, c, default=a),
        "categorical": lambda: Categorical("c", a, ordered=b, default=c),
        "constant": lambda: Constant(a, b, when=c),
        "validate": lambda: svm().validate({"C": a, "kernel": b, "gamma": c, "cache": 200}),
        "dict": lambda: Space.from_dict({"parameters": {"a": {"type": a, "low": b, "high": c}, "b": a}}),
        "when": lambda: Space(Int("p", 0, 3), Float("x", 0, 1, when={"p": a}), Float("y", 0, 1, when=b)),
    }
    with contextlib.suppress(HeadstartError):
        doors[door]()


@settings(max_examples=100, deadline=None)
@given(spaces(), SEEDS)
def test_rows_of_units_and_configs_agree(space: Space, seed: int) -> None:
    configs = sampled(space, seed)
    rows = unit_rows.from_configs(space, configs)
    assert unit_rows.to_configs(space, rows) == configs
    assert np.array_equal(np.isfinite(rows), [[name in config for name in space.names] for config in configs])
