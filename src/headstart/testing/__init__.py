"""Conformance checks: what every Surrogate, InitialDesign and Memory must do, ours and yours.

A check is a plain function of one object; it returns nothing, or raises an AssertionError that says what was expected.
pytest is not needed to run one:

    from headstart.testing import check_surrogate
    check_surrogate(MyMethod())

With pytest, every check becomes a test of its own:

    import pytest
    from headstart.testing import surrogate_checks

    @pytest.mark.parametrize("check", surrogate_checks(MyMethod()), ids=lambda check: check.__name__)
    def test_conformance(check):
        check(MyMethod())

Hand in settings that make a fit quick (few trees, few steps): a full round fits the method some hundred times. Only
checks that apply are listed, so a method that learns nothing from past tasks is not asked about them. The same holds
for ``check_initial_design`` and ``initial_design_checks``, and for ``check_memory`` and ``memory_checks``, which take a
function that opens a new Memory.
"""

from headstart.testing.initial_designs import check_initial_design, initial_design_checks
from headstart.testing.memories import check_memory, memory_checks
from headstart.testing.surrogates import check_surrogate, surrogate_checks

__all__ = [
    "check_initial_design",
    "check_memory",
    "check_surrogate",
    "initial_design_checks",
    "memory_checks",
    "surrogate_checks",
]
