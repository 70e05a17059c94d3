"""DKLM, section 6.5: how much a misleading past costs.

Every method is run with its true past, with the tenth of the past tasks that agrees least with the targets (Kendall's
tau-b), and with a past whose responses were permuted or negated. What learns nothing from the past is the yardstick.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.curves import Curves, side_by_side
from headstart.benchmark.job import learns
from headstart.benchmark.methods import chosen
from headstart.benchmark.metrics import mean_rank, mean_regret, ranks
from headstart.benchmark.reports.layout import critical_layout
from headstart.benchmark.reports.pictures import rank_lines, regret_lines
from headstart.benchmark.reports.tables import Resampling, critical_note
from headstart.benchmark.settings import PastKind, usual_settings
from headstart.benchmark.statistics import Interval, bootstrap_difference, bootstrap_interval, critical_difference
from headstart.benchmark.store import Results
from headstart.errors import SettingsError
from headstart.experiments.frame import CsvTable, Findings, Picture, Recipe, Row, Work

METHODS = ("gp", "prior-gp", "tst-r", "taf-r", "rgpe", "scaml-gp")
PLAIN = "gp"
KINDS: dict[str, PastKind] = {
    "all": "true",
    "NT": "least-correlated",
    "permuted": "permuted",
    "negated": "negated",
}
"""What is done to the past, by the word that tables use."""
REPORTED = (5, 10, 25, 50, 100)
SEEDS = 2


def find(work: Work) -> Findings:
    """Return regret with every past, and its distance to the plain process."""
    trials, seeds = (5, 1) if work.smoke else (50, work.seeds or SEEDS)
    spaces = [space.name for space in work.suite.spaces[:1]] if work.smoke else None
    methods = work.methods or (METHODS if not work.smoke else ("gp", "prior-gp"))
    methods = methods if PLAIN in methods else (PLAIN, *methods)
    settings = usual_settings(work.suite, trials=trials)
    learning = [method.name for method in chosen(methods, settings) if learns(method)]
    if not learning:
        raise SettingsError(
            f"Experiment negative-transfer: none of {', '.join(methods)} learns from the past. Name one that does with "
            "--methods, such as prior-gp."
        )
    results: dict[str, Results] = {}
    for word, kind in KINDS.items():
        # who sees no past is run once for all of them
        wanted = methods if word == "all" else learning
        results[word] = work.results(word, wanted, replace(settings, past=kind), seeds=seeds, spaces=spaces)
    runs = {
        _name(method, word): dict(results[word].runs[method])
        for word in KINDS
        for method in (methods if word == "all" else learning)
    }
    curves = side_by_side(runs)
    at = [t for t in REPORTED if t <= trials]
    return Findings(
        table=_table(curves, at),
        words=_words(curves, learning, at),
        shown={
            "Macro regret minus that of the plain Gaussian process": _distances(curves, at),
            f"Ranks lost to the past that agrees least after {at[-1]} trials, row minus column": _differences(
                curves, learning, at[-1]
            ),
        },
        pictures=_pictures(curves, methods, learning, at[-1]),
    )


def _pictures(curves: Curves, methods: Sequence[str], learning: Sequence[str], last: int) -> dict[str, Picture]:
    """Return regret curves of every past, and ranks and critical differences of {method} x {all, NT} (section 6.5)."""
    bootstrap = Resampling(resamples=1000).interval
    found: dict[str, Picture] = {
        word: regret_lines(curves.of_methods([_name(m, word) if m in learning else m for m in methods]), bootstrap)
        for word in KINDS
    }
    compared = curves.of_methods([*methods, *(_name(m, "NT") for m in learning)])
    found["ranks"] = rank_lines(compared, bootstrap)
    difference = critical_difference(compared, last)
    found["critical"] = critical_layout(difference, critical_note(difference))
    return found


def _name(method: str, word: str) -> str:
    return method if word == "all" else f"{method} ({word})"


def _table(curves: Curves, at: list[int]) -> CsvTable:
    regret = mean_regret(curves)
    place = mean_rank(curves)
    rows: list[Row] = [
        (method, t, float(regret[m, t]), float(place[m, t])) for m, method in enumerate(curves.methods) for t in at
    ]
    return CsvTable(("method", "trial", "regret", "rank"), tuple(rows))


def _distances(curves: Curves, at: list[int]) -> CsvTable:
    rows: list[Row] = []
    for method in curves.methods:
        if method != PLAIN:
            found = bootstrap_difference(curves.regret[:, :, at], curves, method, PLAIN, rng=np.random.default_rng(0))
            cells = [f"{found.mean[k]:+.4f} [{found.low[k]:+.4f}, {found.high[k]:+.4f}]" for k in range(len(at))]
            rows.append((method, *cells))
    return CsvTable(("method", *(f"@{t}" for t in at)), tuple(rows))


def ranks_lost(curves: Curves, learning: Sequence[str], trial: int) -> Array:
    """Return how many ranks [L, R] the past that agrees least costs each method of ``learning``, in every run.

    Ranks are among all rows of the table, so they depend on what else stands there.
    """
    rank = ranks(curves.regret[:, :, trial])
    return np.stack([rank[curves.methods.index(_name(m, "NT"))] - rank[curves.methods.index(m)] for m in learning])


def _differences(curves: Curves, learning: Sequence[str], trial: int) -> CsvTable:
    """Return by how many ranks more one method loses than another: the paper's claim, put to the test."""
    lost = ranks_lost(curves, learning, trial)
    part = curves.of_methods(learning)
    rows: list[Row] = []
    for one in learning:
        cells = [
            "" if one == other else _ranks(bootstrap_difference(lost, part, one, other, rng=np.random.default_rng(0)))
            for other in learning
        ]
        rows.append((one, *cells))
    return CsvTable(("method", *learning), tuple(rows))


def _ranks(found: Interval) -> str:
    return f"{float(found.mean):+.2f} [{float(found.low):+.2f}, {float(found.high):+.2f}]"


def _words(curves: Curves, learning: Sequence[str], at: list[int]) -> tuple[str, ...]:
    found = bootstrap_interval(
        ranks_lost(curves, learning, at[-1]), curves.of_methods(learning), rng=np.random.default_rng(0)
    )
    size = f"Runs a method: {len(curves.runs)}; spaces: {len(curves.spaces)}."
    return (
        f"{size} Intervals are 95 % bootstrap intervals over tasks. A regret below 0 is better than that of the plain "
        f"Gaussian process. Ranks are among the {len(curves.methods)} rows of table.csv.",
        *(
            f"{method}: the past that agrees least costs {mean:+.2f} ranks after {at[-1]} trials [{low:+.2f}, "
            f"{high:+.2f}]."
            for method, mean, low, high in zip(learning, found.mean, found.low, found.high, strict=True)
        ),
    )


NEGATIVE_TRANSFER = Recipe(
    name="negative-transfer",
    title="DKLM, section 6.5: what a misleading past costs",
    claim=(
        "Context-conditioned kernels lose less rank than FSBO when only the least correlated tenth of the past is left "
        "(DKLM, section 6.5). Here the question is asked of every method that learns from the past."
    ),
    needs="any suite with past tasks",
    find=find,
)
