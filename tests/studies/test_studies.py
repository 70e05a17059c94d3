"""The studies run: their smoke mode."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("script", "words"),
    [("synthetic.py", ["branin", "hartmann6", "mixed"]), ("transfer.py", ["bowl", "peak", "negated"])],
)
def test_the_studies_smoke(script: str, words: list[str]) -> None:
    path = Path(__file__).with_name(script)
    done = subprocess.run([sys.executable, str(path), "--smoke"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in words)
