"""Artifacts come back bit by bit; damaged, stale, foreign and hostile files give one line and execute nothing."""

import hashlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import headstart
from headstart import artifacts
from headstart.data import MetaDataset
from headstart.encoding import Columns
from headstart.errors import ArtifactError
from headstart.initial_designs import GreedyPortfolio
from headstart.protocols import SupportsPretraining, Surrogate
from headstart.surrogates import GaussianProcess, PriorGP
from headstart.testing import examples
from headstart.testing.inspection import snapshot, unstorable_fields
from helpers import every_surrogate

SMALL = Columns.numeric(2)
HOME = "headstart.numerics.made_up_for_the_tests"


@dataclass(frozen=True, eq=False)
class Box:
    """Anything, in a module that poses as one of headstart's."""

    content: object


@dataclass(frozen=True, eq=False)
class Changing:
    number: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", self.number + 1)


@dataclass(frozen=True, eq=False)
class Derived:
    number: int
    twice: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "twice", 2 * self.number)


@dataclass
class Loose:
    number: int = 0


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    home = ModuleType(HOME)
    for made in (Box, Changing, Derived, Loose):
        monkeypatch.setattr(made, "__module__", HOME)
        setattr(home, made.__name__, made)
    monkeypatch.setitem(sys.modules, HOME, home)


def saved(path: Path, thing: object = SMALL, **more: Any) -> bytes:
    artifacts.save(path, thing, fingerprint="made-from", **more)
    return path.read_bytes()


def refused(path: Path, **more: Any) -> str:
    with pytest.raises(ArtifactError) as caught:
        artifacts.load(path, **more)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    return message


TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
DTYPES = st.sampled_from(
    [*("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"), ">f8", ">i4", ">u2", "g"]
)
ARRAYS = st.builds(
    lambda array, order, write: arranged(array, order, write),
    DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))),
    st.sampled_from(["C", "F", "strided"]),
    st.booleans(),
)
SCALARS = DTYPES.filter(lambda dtype: np.dtype(dtype).kind != "b").flatmap(
    lambda dtype: hnp.arrays(np.dtype(dtype).newbyteorder("="), ()).map(lambda array: array[()])
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from([-0.0, 5e-324]), TEXTS, ARRAYS, SCALARS
)
THINGS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(Box, inner), max_leaves=8
).map(Box)


def arranged(array: np.ndarray[Any, Any], order: Literal["C", "F", "strided"], write: bool) -> np.ndarray[Any, Any]:
    if order == "strided":
        found = np.repeat(array, 2, axis=0)[::2] if array.ndim else array.copy()
    else:
        found = np.array(array, order=order)
    found.setflags(write=write)
    return found


@given(THINGS)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_everything_storable_comes_back_bit_by_bit(tmp_path: Path, thing: Box) -> None:
    assert not unstorable_fields(thing, "thing")
    artifacts.save(tmp_path / "box", thing, fingerprint="")
    loaded = artifacts.load(tmp_path / "box", expected=Box)
    assert snapshot(loaded) == snapshot(thing)
    assert layouts(loaded) == layouts(thing)


def layouts(thing: object) -> list[tuple[bool, bool]]:
    """Whether arrays may be written to, and whether they are in the column order (which BLAS sees)."""
    if isinstance(thing, np.ndarray):
        return [(thing.flags.writeable, thing.flags.f_contiguous and not thing.flags.c_contiguous)]
    if isinstance(thing, tuple):
        return [found for item in thing for found in layouts(item)]
    return layouts(thing.content) if isinstance(thing, Box) else []


@pytest.mark.parametrize("recipe", every_surrogate(), ids=lambda recipe: recipe.name)
def test_surrogates_come_back(tmp_path: Path, recipe: Surrogate) -> None:
    past = examples.past_tasks(2, tasks=3, n=15)
    if isinstance(recipe, SupportsPretraining):
        recipe = recipe.pretrain(past, rng=np.random.default_rng(0))
    artifacts.save(tmp_path / "it", recipe, fingerprint="f", description={"tasks": len(past)})
    loaded = artifacts.load(tmp_path / "it", expected=type(recipe), fingerprint="f")
    assert snapshot(loaded) == snapshot(recipe)
    data, rows = examples.task(7, 2), examples.rows(50, 2, 5)
    posteriors = [one.fit(data, rng=np.random.default_rng(1)) for one in (recipe, loaded)]
    first, second = (posterior.predict(rows) for posterior in posteriors)
    assert snapshot(first) == snapshot(second)
    assert snapshot(posteriors[0]) == snapshot(posteriors[1])
    # a posterior is a frozen dataclass, too
    artifacts.save(tmp_path / "it", posteriors[0], fingerprint="f")
    assert snapshot(artifacts.load(tmp_path / "it")) == snapshot(posteriors[0])


def test_designs_and_data_come_back(tmp_path: Path) -> None:
    past = examples.past_tasks(5, tasks=2, n=15)
    design = GreedyPortfolio(trees=3).pretrain(past, rng=np.random.default_rng(0))
    for thing in (design, past):
        saved(tmp_path / "it", thing)
        assert snapshot(artifacts.load(tmp_path / "it")) == snapshot(thing)
    assert not artifacts.load(tmp_path / "it", expected=MetaDataset).tasks[0].x.flags.writeable


def test_numbers_in_settings_keep_their_type(tmp_path: Path) -> None:
    recipe = replace(GaussianProcess(), restarts=np.int32(1), noise_floor=np.float32(0.1), minimum_observations=3)
    saved(tmp_path / "it", recipe)
    loaded = artifacts.load(tmp_path / "it", expected=GaussianProcess)
    assert type(loaded.restarts) is np.int32
    assert type(loaded.noise_floor) is np.float32
    assert type(loaded.minimum_observations) is int
    assert type(loaded.nu) is float


def test_the_same_content_gives_the_same_file_and_safetensors_reads_it(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    past = GreedyPortfolio(trees=2).pretrain(examples.past_tasks(2, tasks=2, n=15), rng=np.random.default_rng(0))
    assert saved(tmp_path / "a", past) == saved(tmp_path / "b", past)
    assert past.past is not None
    assert np.array_equal(load_file(tmp_path / "a")["past.rows"], past.past.rows)


def test_about_says_what_it_was_made_from(tmp_path: Path) -> None:
    saved(tmp_path / "it", PriorGP(), description={"space": "svm", "tasks": 3, "array": np.arange(2)})
    about = artifacts.about(tmp_path / "it")
    assert about.class_name == "headstart.surrogates.prior_gp.PriorGP"
    assert (about.version, about.fingerprint) == (headstart.__version__, "made-from")
    assert about.description == {"space": "svm", "tasks": 3, "array": [0, 1]}


def test_derived_fields_are_derived_again(tmp_path: Path) -> None:
    saved(tmp_path / "it", Derived(3))
    assert artifacts.load(tmp_path / "it", expected=Derived).twice == 6


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (3, "only a frozen dataclass"),
        (Columns, "only a frozen dataclass"),
        (Box([1]), "a list cannot be stored"),
        (Box({}), "a dict cannot be stored"),
        (Box((1, {2})), r"Box.content\[1\]: a set cannot"),
        (Box(lambda: 0), "a function cannot"),
        (Box(np.array(["a"])), "a ndarray cannot"),
        (Box(np.array([1j])), "a ndarray cannot"),
        (Box(np.ma.masked_array([1.0])), "MaskedArray cannot"),
        (Box(np.timedelta64(1, "s")), "a timedelta64 cannot"),
        (Box(np.bool_(True)), "a bool cannot be stored"),
        (Box(np.str_("a")), "a str_ cannot"),
        (Box("\ud800"), "lone surrogate"),
        (Box(10**5000), "smaller number"),
        (Box(Loose()), "no frozen dataclass"),
        (replace(GaussianProcess(), priors=SMALL), "priors: .* does not fit its type"),
    ],
)
def test_what_cannot_be_stored_is_said(tmp_path: Path, thing: object, words: str) -> None:
    with pytest.raises(ArtifactError, match=words) as caught:
        artifacts.save(tmp_path / "it", thing, fingerprint="")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_classes_from_elsewhere_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Box, "__module__", "somewhere.else")
    with pytest.raises(ArtifactError, match="no class of headstart's"):
        artifacts.save(tmp_path / "it", Box(1), fingerprint="")


def test_deep_nesting_is_refused_when_saving(tmp_path: Path) -> None:
    thing: object = 1
    for _ in range(5000):
        thing = (thing,)
    with pytest.raises(ArtifactError, match="inside one another"):
        artifacts.save(tmp_path / "it", Box(thing), fingerprint="")


def test_a_constructor_that_changes_its_content_is_noticed(tmp_path: Path) -> None:
    saved(tmp_path / "it", Changing(1))
    assert "no longer is what was stored" in refused(tmp_path / "it")


def test_stale_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it"
    saved(path)
    assert "made from 'made-from', now it would be 'other'" in refused(path, fingerprint="other")
    assert "it holds headstart.encoding.Columns, expected PriorGP" in refused(path, expected=PriorGP)
    monkeypatch.setattr("headstart.artifacts.files.__version__", "99.0")
    assert f"headstart '{headstart.__version__}' wrote it, this is 99.0" in refused(path)


def test_foreign_files(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    path = tmp_path / "it"
    for content in (b"", b"{}", b"hello" * 100, b"\x80\x04\x95pickle", struct.pack("<Q", 2**60) + b"{}"):
        path.write_bytes(content)
        assert "no artifact of headstart" in refused(path)
    save_file({"x": np.zeros(3)}, path)
    assert "no artifact of headstart" in refused(path)
    save_file({"x": np.zeros(3)}, path, {"headstart.artifact": "{}"})
    assert "digest does not fit" in refused(path)
    assert "cannot be read" in refused(tmp_path / "nowhere")
    assert "not a file" in refused(tmp_path)
    assert "cannot be read" in refused(tmp_path / "zero\0byte")
    with (tmp_path / "vast").open("wb") as file:  # sparse: it takes no room
        file.truncate(1 << 40)
    assert "not a file of at most" in refused(tmp_path / "vast")


def small_file(path: Path) -> tuple[bytes, object]:
    thing = Box((np.arange(3), 1.5, "name", SMALL))
    return saved(path, thing, description={"a": 1}), snapshot(thing)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "it"
    whole, _ = small_file(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        refused(path)
    path.write_bytes(whole + b"\0")
    refused(path)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=3))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_flipped_bits_are_noticed_or_mean_nothing(tmp_path: Path, flips: list[tuple[int, int]]) -> None:
    path = tmp_path / "it"
    whole, expected = small_file(path)
    damaged = bytearray(whole)
    for place, bits in flips:
        damaged[place % len(whole)] ^= bits
    path.write_bytes(damaged)
    try:
        assert snapshot(artifacts.load(path)) == expected
    except ArtifactError:
        refused(path)


def test_every_single_byte_counts(tmp_path: Path) -> None:
    path = tmp_path / "it"
    whole, expected = small_file(path)
    unnoticed = 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert snapshot(artifacts.load(path)) == expected
            unnoticed += 1
        except ArtifactError:
            pass
    assert unnoticed == 0  # not even in the padding, where '!' would follow the JSON


def forged(path: Path, change: Callable[[dict[str, Any]], Any], tensors: dict[str, Any] | None = None) -> None:
    """Write an artifact whose digest is right, whatever it holds."""
    from safetensors.numpy import load, save

    whole = saved(path, Box((np.arange(3.0), 1.5, SMALL)))
    header = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
    content = json.loads(header["__metadata__"]["headstart.artifact"][65:])
    changed = change(content)
    forge(
        path,
        changed if isinstance(changed, str) else json.dumps(content),
        load(whole) if tensors is None else tensors,
        save,
    )


def forge(path: Path, text: str, tensors: dict[str, Any], save: Callable[..., bytes]) -> None:
    total = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        total.update(json.dumps([name, tensors[name].dtype.str, list(tensors[name].shape)]).encode())
        total.update(hashlib.sha256(tensors[name].tobytes()).digest())
    path.write_bytes(save(tensors, {"headstart.artifact": f"{total.hexdigest()} {text}"}))


def hold(value: object) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["thing"]["fields"].update(content=value)


def array(**more: Any) -> dict[str, Any]:
    plain = {"array": "content[0]", "dtype": "<f8", "shape": [3], "order": "C", "writeable": True}
    return {**plain, **more}


def instance(class_name: str, /, **held: object) -> dict[str, Any]:
    return {"class": class_name, "fields": held}


def test_a_forged_file_that_is_right_is_read(tmp_path: Path) -> None:
    forged(tmp_path / "it", lambda content: None)
    assert isinstance(artifacts.load(tmp_path / "it"), Box)
    forged(tmp_path / "it", hold({"tuple": [array()]}))
    assert isinstance(artifacts.load(tmp_path / "it"), Box)


DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no json": lambda content: "{",
    "not an object": lambda content: "[]",
    "deep json": lambda content: DEEP,
    "deeper than it may be": lambda content: json.dumps(content).replace("1.5", '{"tuple": [' * 60 + "1" + "]}" * 60),
    "deep content": lambda content: json.dumps(content).replace("1.5", '{"tuple": [' * 500 + "1" + "]}" * 500),
    "duplicate key": lambda content: json.dumps(content)[:-1] + ', "format": 1}',
    "nan": lambda content: json.dumps(content).replace("1.5", "NaN"),
    "long number": lambda content: json.dumps(content).replace("1.5", "9" * 10_000),
    "newer format": lambda content: content.update(format=2),
    "format is true": lambda content: content.update(format=True),
    "more": lambda content: content.update(more=1),
    "less": lambda content: content.pop("description") and None,
    "version is a number": lambda content: content.update(version=1),
    "no class": lambda content: content.update(thing={"tuple": []}),
    "class is a number": lambda content: content.update(thing={"class": 1, "fields": {}}),
    "builtin": hold(instance("builtins.eval", content="1")),
    "os": hold(instance("os.system", command="touch hacked")),
    "subprocess": hold(instance("headstart.cli.main.subprocess.Popen", args="touch hacked")),
    "not a home": hold(instance("headstart.demo.tasks.DemoTask", name="a", about="b", load=None)),
    "main": hold(instance("headstart.__main__.main")),
    "private module": hold(instance("headstart.numerics._x.Y")),
    "dots": hold(instance("headstart.numerics..Forest")),
    "a line more": hold(instance("headstart.encoding.Columns\n")),
    "a function": hold(instance("headstart.encoding.dataclass", cls=None)),
    "imported": hold(instance("headstart.data.Columns", kinds={"tuple": []}, groups={"tuple": []})),
    "not frozen": hold(instance(f"{HOME}.Loose", number=1)),
    "no dataclass": hold(instance("headstart.encoding.Encoding", space=1)),
    "no such class": hold(instance("headstart.encoding.Nothing")),
    "no such module": hold(instance("headstart.numerics.nothing.Forest")),
    "missing field": hold(instance("headstart.encoding.Columns", kinds={"tuple": []})),
    "unknown field": hold(
        instance("headstart.encoding.Columns", kinds={"tuple": []}, groups={"tuple": []}, __class__="x")
    ),
    "wrong type": hold(instance("headstart.encoding.Columns", kinds="numeric", groups={"tuple": []})),
    "wrong literal": hold(instance("headstart.encoding.Columns", kinds={"tuple": ["x"]}, groups={"tuple": [1]})),
    "refused by its constructor": hold(
        instance("headstart.encoding.Columns", kinds={"tuple": []}, groups={"tuple": [1]})
    ),
    "unknown word": hold({"pickle": "gASVKAAAAAAAAACMBXBvc2l4"}),
    "a list": hold([1, 2]),
    "bad float": hold({"float": "1.5"}),
    "bad number": hold({"number": "float64", "bytes": "00"}),
    "no digits": hold({"number": "float64", "bytes": "zz"}),
    "unknown number": hold({"number": "void", "bytes": "00"}),
    "another array": hold(array(array="other")),
    "an array twice": hold({"tuple": [array(), array()]}),
    "an array unused": hold(1),
    "wrong dtype": hold(array(dtype="<i8")),
    "objects": hold(array(dtype="|O")),
    "structured": hold(array(dtype="i4,i4")),
    "no dtype": hold(array(dtype="nonsense")),
    "wrong shape": hold(array(shape=[4])),
    "vast shape": hold(array(shape=[10**30])),
    "negative shape": hold(array(shape=[-3])),
    "fractional shape": hold(array(shape=[3.0])),
    "odd shape": hold(array(shape=["3"])),
    "wrong order": hold(array(order="K")),
    "more in an array": hold({**array(), "more": 1}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    forged(tmp_path / "it", HOSTILE[name])
    loaded = set(sys.modules)
    refused(tmp_path / "it")
    assert not (tmp_path / "hacked").exists()
    assert {
        module for module in set(sys.modules) - loaded if not module.startswith(("headstart.", "encodings"))
    } == set()


def test_hostile_arrays(tmp_path: Path) -> None:
    path, flag = tmp_path / "it", np.array([2], np.uint8).view(np.bool_)
    boolean = hold(array(array="b", dtype="|b1", shape=[1]))
    forged(path, boolean, {"b": flag})
    assert "booleans" in refused(path)
    as_bytes = hold(array(array="b", dtype=">f8", shape=[2**40, 2**40]))
    forged(path, as_bytes, {"b": np.zeros(8, np.uint8)})
    assert "expected" in refused(path)


def test_types_are_checked_where_constructors_do_not(tmp_path: Path) -> None:
    prior = instance("headstart.numerics.past_prior.PastPrior", spread="x", diagonal=1.0)
    forged(tmp_path / "it", hold(prior), {})
    assert "PastPrior.spread" in refused(tmp_path / "it")


def test_hostile_headers(tmp_path: Path) -> None:
    path = tmp_path / "it"
    for header in (
        b'{"__metadata__":{"headstart.artifact":"{}","headstart.artifact":"{}"}}',
        b'{"__metadata__":{"headstart.artifact":1}}',
        b'{"__metadata__":{"headstart.artifact":"\\ud800"}}',
        b'{"__metadata__":{"headstart.artifact":"x {}","more":"1"}}',
        b'{"__metadata__":[]}',
        b'{"x":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}\0\0',
        b'{"x":{"dtype":"F64","shape":[1152921504606846976],"data_offsets":[0,9223372036854775808]}}',
        b'{"x":' * 5000 + b"1" + b"}" * 5000,
        b"[]",
        b"\xff\xfe",
    ):
        body = header.rstrip(b"\0")
        path.write_bytes(struct.pack("<Q", len(body)) + body + header[len(body) :])
        refused(path)


def test_what_was_there_stays_if_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it"
    whole = saved(path)

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ArtifactError, match="No space left on device"):
        artifacts.save(path, Columns.numeric(9), fingerprint="")
    assert path.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["nowhere/it", "zero\0byte", "."])
def test_places_that_cannot_be_written(tmp_path: Path, where: str) -> None:
    with pytest.raises(ArtifactError, match="cannot be written"):
        artifacts.save(tmp_path / where, SMALL, fingerprint="")


def test_a_fingerprint_is_text(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="fingerprint must be text"):
        artifacts.save(tmp_path / "it", SMALL, fingerprint=3)  # pyright: ignore[reportArgumentType]


def test_importing_is_light() -> None:
    code = "import sys, headstart.artifacts; print('safetensors' in sys.modules, 'sklearn' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == ["False", "False"]
