"""The list of surrogates: complete, found by name, and light to import."""

import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import headstart.surrogates
from headstart.errors import SettingsError
from headstart.surrogates import surrogate_named


def test_every_class_is_found_by_its_name() -> None:
    for listed in headstart.surrogates.__all__:
        kind = getattr(headstart.surrogates, listed)
        assert surrogate_named(kind.name) is kind


def test_every_surrogate_of_the_package_is_listed() -> None:
    for module in pkgutil.iter_modules(headstart.surrogates.__path__):
        loaded = import_module(f"headstart.surrogates.{module.name}")
        for name, kind in inspect.getmembers(loaded, inspect.isclass):
            if kind.__module__ == loaded.__name__ and hasattr(kind, "fit") and hasattr(kind, "name"):
                assert name in headstart.surrogates.__all__


def test_an_unknown_name_is_answered_with_close_ones_and_the_list() -> None:
    with pytest.raises(SettingsError, match=r"no surrogate named 'prior_gp'\. Did you mean 'prior-gp'") as caught:
        surrogate_named("prior_gp")
    for listed in headstart.surrogates.__all__:
        assert repr(getattr(headstart.surrogates, listed).name) in str(caught.value)
    with pytest.raises(SettingsError, match=r"named 'zzz'\. The names are"):
        surrogate_named("zzz")


@pytest.mark.parametrize("module", ["headstart.surrogates", "headstart.testing"])
def test_importing_stays_light(module: str) -> None:
    heavy = ["sklearn", "scipy.stats", "scipy.optimize", "matplotlib", "pandas", "jax", "pytest", "threadpoolctl"]
    program = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
