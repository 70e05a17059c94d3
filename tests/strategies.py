"""Hypothesis strategies: Spaces with conditions, and what may and may not be put into them."""

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headstart.space import Categorical, Config, Constant, Float, Int, Parameter, Space

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
SEEDS = st.integers(0, 2**32 - 1)

_VALUES = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=6),
    st.booleans(),
    st.none(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def _float(draw: st.DrawFn, name: str, when: dict[str, Any]) -> Float:
    log = draw(st.booleans())
    size = st.floats(1e-300, 1e299) if log else st.floats(-1e299, 1e299)
    low, high = sorted((draw(size), draw(size)))
    gap = math.log(high) - math.log(low) > 1e-9 if log else high - low > 1e-12 * max(abs(low), abs(high))
    if not gap:
        high = low * 2 if low > 0 else low + max(1.0, abs(low))
    default = draw(st.none() | st.floats(low, high))
    return Float(name, low, high, log=log, default=default, when=when)


@st.composite
def _int(draw: st.DrawFn, name: str, when: dict[str, Any]) -> Int:
    log = draw(st.booleans())
    low = draw(st.integers(1 if log else -(10**12), 10**12 - 1) | st.integers(1, 10))
    high = draw(st.integers(low + 1, min(low + 20, 10**12)) | st.integers(low + 1, 10**12))
    default = draw(st.none() | st.integers(low, high))
    return Int(name, low, high, log=log, default=default, when=when)


@st.composite
def _categorical(draw: st.DrawFn, name: str, when: dict[str, Any]) -> Categorical:
    choices = draw(st.lists(_VALUES, min_size=1, max_size=5, unique=True))
    default = draw(st.none() | st.sampled_from(choices))
    return Categorical(name, choices, ordered=draw(st.booleans()), default=default, when=when)


def _allowed(draw: st.DrawFn, parent: Parameter) -> list[Any]:
    if isinstance(parent, Categorical):
        return draw(st.lists(st.sampled_from(parent.choices), min_size=1, max_size=3))
    if isinstance(parent, Constant):
        return [parent.value]
    assert isinstance(parent, Int)
    return draw(st.lists(st.integers(parent.low, min(parent.high, parent.low + 20)), min_size=1, max_size=4))


@st.composite
def spaces(draw: st.DrawFn, max_parameters: int = 6) -> Space:
    """Any Space: all kinds, nested conditions on several parents, extreme ranges, odd names; in any order."""
    names = draw(st.lists(NAMES, min_size=1, max_size=max_parameters, unique=True))
    parameters: list[Parameter] = []
    for name in names:
        parents = [p for p in parameters if not isinstance(p, Float)]
        chosen = draw(st.lists(st.sampled_from(parents), max_size=2, unique_by=id)) if parents else []
        when = {parent.name: _allowed(draw, parent) for parent in chosen}
        kind = draw(st.sampled_from(("float", "int", "categorical", "constant")))
        if kind == "constant":
            parameters.append(Constant(name, draw(_VALUES), when=when))
        else:
            make = {"float": _float, "int": _int, "categorical": _categorical}[kind]
            parameters.append(draw(make(name, when)))
    return Space(*draw(st.permutations(parameters)))


def sampled(space: Space, seed: int, n: int = 5) -> list[Config]:
    return space.sample(n, rng=np.random.default_rng(seed))
