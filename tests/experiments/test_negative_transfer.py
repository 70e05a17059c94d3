"""What a misleading past costs: ranks and differences against a direct computation, and who is run how often."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from benchmark.small import source
from headstart.benchmark.curves import MEASURES, Curves, RunKey
from headstart.benchmark.reports.layout import CriticalLayout
from headstart.benchmark.reports.pictures import Lines
from headstart.benchmark.store import read_results
from headstart.errors import SettingsError
from headstart.experiments import negative_transfer
from headstart.experiments.frame import Work
from headstart.experiments.negative_transfer import find, ranks_lost

METHODS = ("gp", "a", "b", "a (NT)", "b (NT)")
RUNS = tuple(
    RunKey(space, task, seed) for space, tasks in (("s", "uvw"), ("t", "x")) for task in tasks for seed in "01"
)


def curves(seed: int = 0) -> Curves:
    rng = np.random.default_rng(seed)
    arrays = {name: np.full((len(METHODS), len(RUNS), 3), np.nan) for name in MEASURES}
    arrays["regret"] = rng.integers(0, 4, arrays["regret"].shape) / 4.0  # with ties
    return Curves(METHODS, RUNS, **arrays)


def test_ranks_lost_are_differences_of_ranks_among_all_rows() -> None:
    found = curves()
    lost = ranks_lost(found, ["a", "b"], 2)
    for run in range(len(RUNS)):
        rank = rankdata(found.regret[:, run, 2])
        assert lost[:, run].tolist() == [rank[3] - rank[1], rank[4] - rank[2]]


def macro(values: np.ndarray) -> float:
    """Return the mean over the two spaces of three tasks and of one, two seeds each."""
    return float((values[:6].mean() + values[6:].mean()) / 2)


def test_the_claim_is_a_difference_of_differences() -> None:
    found = curves()
    lost = ranks_lost(found, ["a", "b"], 2)
    table = negative_transfer._differences(found, ["a", "b"], 2)
    assert table.columns == ("method", "a", "b")
    cell = str(table.rows[0][2])
    assert cell.startswith(f"{macro(lost[0] - lost[1]):+.2f} [")
    assert str(table.rows[1][1]).startswith(f"{macro(lost[1] - lost[0]):+.2f} [")
    assert table.rows[0][1] == ""
    # every resample of tasks by hand: three of three tasks of s with replacement, the one of t
    difference = (lost[0] - lost[1]).reshape(4, 2).mean(axis=1)
    every = [
        (np.mean([difference[i], difference[j], difference[k]]) + difference[3]) / 2
        for i in range(3)
        for j in range(3)
        for k in range(3)
    ]
    low, high = (float(part) for part in cell.split("[")[1].rstrip("]").split(","))
    assert min(every) - 0.01 <= low <= high <= max(every) + 0.01
    assert (low, high) == pytest.approx((min(every), max(every)), abs=0.01)  # 1 of 27 is more than 2.5 %
    words = negative_transfer._words(found, ["a", "b"], [2])
    assert words[1].startswith(f"a: the past that agrees least costs {macro(lost[0]):+.2f} ranks after 2 trials [")
    assert "among the 5 rows" in words[0]


def test_who_learns_nothing_is_run_once(tmp_path: Path) -> None:
    found = find(Work(source(), tmp_path, smoke=True, methods=("random", "prior-gp")))
    assert set(read_results(tmp_path / "all").runs) == {"gp", "random", "prior-gp"}
    for word in ("NT", "permuted", "negated"):
        results = read_results(tmp_path / word)
        assert set(results.runs) == {"prior-gp"}
        assert results.settings["past"] == {"NT": "least-correlated"}.get(word, word)
    rows = ["gp", "random", "prior-gp", "prior-gp (NT)", "prior-gp (permuted)", "prior-gp (negated)"]
    assert [row[0] for row in found.table.rows] == rows
    curves = {name: lines.methods for name, lines in found.pictures.items() if isinstance(lines, Lines)}
    assert curves == {
        "all": ("gp", "random", "prior-gp"),
        "ranks": ("gp", "random", "prior-gp", "prior-gp (NT)"),
        **{word: ("gp", "random", f"prior-gp ({word})") for word in ("NT", "permuted", "negated")},
    }
    diagram = found.pictures["critical"]
    assert isinstance(diagram, CriticalLayout)
    assert {label.method for label in diagram.labels} == set(curves["ranks"])
    regret = {method: read_results(tmp_path / "all").runs[method] for method in ("gp", "random")}
    ends = [measures["regret"][5] for measures in regret["random"].values()]
    assert found.table.rows[1][2] == pytest.approx(np.mean(ends))


def test_somebody_must_learn(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none of gp, random learns from the past\. Name one that does"):
        find(Work(source(), tmp_path, smoke=True, methods=("random",)))
    assert not list(tmp_path.iterdir())
