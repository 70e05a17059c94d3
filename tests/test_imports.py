"""What an import may load, and in which order modules may import one another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

HEAVY = (
    "sklearn",
    "scipy",
    "sqlalchemy",
    "matplotlib",
    "plotly",
    "pandas",
    "optuna",
    "ray",
    "jax",
    "typer",
    "rich",
    "threadpoolctl",
    "safetensors",
)


def loaded_by(statement: str, candidates: tuple[str, ...]) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(name for name in {candidates!r} if name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stderr == ""
    return set(found.stdout.split())


def test_the_check_sees_what_is_loaded() -> None:
    assert loaded_by("import scipy.linalg, sqlalchemy", HEAVY) == {"scipy", "sqlalchemy"}


def test_importing_headstart_loads_nothing_heavy() -> None:
    assert loaded_by("import headstart", HEAVY) == set()


def test_a_space_is_as_light() -> None:
    assert loaded_by("from headstart import Categorical, Constant, Float, Int, Space, Trial, TaskData", HEAVY) == set()
    assert loaded_by("import headstart.errors, headstart.protocols, headstart.encoding", HEAVY) == set()


@pytest.mark.parametrize(
    "statement",
    [
        "from headstart import Optimizer",
        "from headstart import Float, Optimizer, Space\n"
        "o = Optimizer(Space(Float('x', 0, 1)), method='random', seed=0)\n"
        "for _ in range(3): o.tell(o.ask(), 1.0)",
    ],
)
def test_an_optimizer_loads_no_database_no_scikit_learn_no_plots_and_no_statistics(statement: str) -> None:
    heavy = tuple(name for name in HEAVY if name not in ("scipy", "threadpoolctl"))
    assert loaded_by(statement, (*heavy, "scipy.stats", "scipy.optimize", "scipy.spatial")) == set()


def test_every_public_name_is_there_and_an_unknown_one_is_not() -> None:
    import headstart

    for name in headstart.__all__:
        assert getattr(headstart, name) is not None
    assert dir(headstart) == headstart.__all__
    assert not hasattr(headstart, "Optimiser")


def test_modules_import_one_another_in_the_order_in_which_data_flow() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("lint-imports is not installed beside this Python")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    found = subprocess.run(
        [linter, "--config", "pyproject.toml", "--no-cache"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
