"""The studies run: their smoke mode on the shared data, where that stands beside the repository."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from studies import dev_suite

DATA = dev_suite.DEFAULT_DATA
needs_data = pytest.mark.skipif(
    not (DATA / "meta-train-dataset.json").exists(),
    reason="the dev-suite is not there: it is looked for in shared/data/dev-suite beside the repository",
)


@needs_data
def test_dev_suite_smoke(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results.jsonl"
    assert dev_suite.main(["--smoke", "--out", str(out)]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 9  # three tasks, three methods
    for line in lines:
        assert len(line["regret"]) == 4
        assert line["regret"] == sorted(line["regret"], reverse=True)
        assert 0 <= line["regret"][-1] <= line["regret"][0] <= 1
    starts = {(line["run"]["task"], line["regret"][0]) for line in lines}
    assert len(starts) == 3  # every method starts from the same given rows
    assert "prior-gp" in capsys.readouterr().out

    # what is there is not run again; a line that a crash cut short is
    out.write_text("\n".join(json.dumps(line) for line in lines[1:]) + '\n{"run": {"meth')
    before = out.read_text()
    assert dev_suite.main(["--smoke", "--out", str(out)]) == 0
    added = out.read_text()[len(before) :].strip().splitlines()
    assert len(added) == 1
    assert json.loads(added[0])["run"] == lines[0]["run"]
    assert json.loads(added[0])["regret"] == lines[0]["regret"]


@needs_data
def test_results_stay_out_of_the_repository(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dev_suite.main(["--smoke", "--out", str(dev_suite.REPOSITORY / "results.jsonl")])
    assert "outside the repository" in capsys.readouterr().err


def test_missing_data_and_unknown_methods_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        dev_suite.main(["--data", str(tmp_path), "--out", str(tmp_path / "x")])
    assert "--data" in capsys.readouterr().err


def test_macro_is_the_mean_over_spaces() -> None:
    """Two runs of one space and one of another: spaces count equally."""
    rows = [
        {"run": {"space": "a"}, "regret": [0.0, 0.0]},
        {"run": {"space": "a"}, "regret": [0.4, 0.2]},
        {"run": {"space": "b"}, "regret": [0.6, 0.5]},
    ]
    assert dev_suite.macro(rows).tolist() == pytest.approx([0.4, 0.3])


def test_regret_curve_of_a_known_pool() -> None:
    """The only surrogate is chance, so the curve falls to 0 once the pool is used up."""
    import numpy as np

    x = np.linspace(0, 1, 6)[:, None]
    pool = dev_suite.Pool("space", "task", x, np.array([0.0, 1.0, 2.0, 3.0, 4.0, 10.0]))
    setting = dev_suite.Setting("test", 8, "oracle", "true")
    curve = dev_suite.regret_curve(dev_suite.METHODS["random"], pool, [0, 1], setting, None, np.random.default_rng(0))
    assert curve[0] == pytest.approx(0.9)
    assert len(curve) == 9
    assert curve[4:] == [0.0] * 5


@pytest.mark.parametrize(
    ("script", "words"),
    [("synthetic.py", ["branin", "hartmann6", "mixed"]), ("transfer.py", ["bowl", "peak", "negated"])],
)
def test_the_other_studies_smoke(script: str, words: list[str]) -> None:
    path = Path(__file__).with_name(script)
    done = subprocess.run([sys.executable, str(path), "--smoke"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in words)
