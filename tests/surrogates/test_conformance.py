"""Every listed surrogate passes every check that applies to it."""

from collections.abc import Callable

import pytest

import headstart.surrogates
from headstart.protocols import Surrogate
from headstart.testing import surrogate_checks
from helpers import QUICK, every_surrogate

CASES = [(surrogate, check) for surrogate in every_surrogate() for check in surrogate_checks(surrogate)]


@pytest.mark.parametrize(
    ("surrogate", "check"), CASES, ids=[f"{surrogate.name}-{check.__name__}" for surrogate, check in CASES]
)
def test_conforms(surrogate: Surrogate, check: Callable[[Surrogate], None]) -> None:
    check(surrogate)


def test_quick_settings_are_of_listed_methods() -> None:
    assert set(QUICK) <= set(headstart.surrogates.__all__)
    assert all(type(recipe).__name__ == listed for listed, recipe in QUICK.items())


def test_names_are_unique() -> None:
    names = [surrogate.name for surrogate in every_surrogate()]
    assert len(set(names)) == len(names)
