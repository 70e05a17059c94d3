"""DKLM, section 6.5: how much a misleading past costs.

Every method is run with its true past, with the tenth of the past tasks that agrees least with the targets (Kendall's
tau-b), and with a past whose responses were permuted or negated. What learns nothing from the past is the yardstick.
"""

import numpy as np

from headstart.benchmark.curves import Curves, side_by_side
from headstart.benchmark.metrics import mean_regret, ranks
from headstart.benchmark.reports.pictures import regret_lines
from headstart.benchmark.reports.tables import Resampling
from headstart.benchmark.settings import PastKind, usual_settings
from headstart.benchmark.statistics import bootstrap_difference
from headstart.benchmark.store import Results
from headstart.experiments.frame import CsvTable, Findings, Recipe, Row, Work

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
    results: dict[str, Results] = {}
    for word, kind in KINDS.items():
        settings = usual_settings(work.suite, trials=trials, past=kind)
        # the plain process sees no past: one run of it serves all
        wanted = methods if word == "all" else tuple(method for method in methods if method != PLAIN)
        results[word] = work.results(word, wanted, settings, seeds=seeds, spaces=spaces)
    runs = {
        _name(method, word): dict(results[word].runs[method])
        for word in KINDS
        for method in methods
        if method in results[word].runs
    }
    curves = side_by_side(runs)
    at = [t for t in REPORTED if t <= trials]
    return Findings(
        table=_table(curves, at),
        words=_words(curves, methods, at),
        shown={"Macro regret minus that of the plain Gaussian process": _distances(curves, at)},
        pictures={
            word: regret_lines(
                curves.of_methods([PLAIN, *(_name(m, word) for m in methods if m != PLAIN)]),
                Resampling(resamples=1000).interval,
            )
            for word in KINDS
        },
    )


def _name(method: str, word: str) -> str:
    return method if word == "all" else f"{method} ({word})"


def _table(curves: Curves, at: list[int]) -> CsvTable:
    regret = mean_regret(curves)
    place = mean_of_ranks(curves)
    rows: list[Row] = [
        (method, t, float(regret[m, t]), float(place[m, t])) for m, method in enumerate(curves.methods) for t in at
    ]
    return CsvTable(("method", "trial", "regret", "rank"), tuple(rows))


def mean_of_ranks(curves: Curves) -> np.ndarray:
    """Return the macro mean rank [M, T + 1] among all rows of the table."""
    from headstart.benchmark.metrics import averaged

    return averaged(ranks(curves.regret), curves, "macro")


def _distances(curves: Curves, at: list[int]) -> CsvTable:
    rows: list[Row] = []
    for method in curves.methods:
        if method != PLAIN:
            found = bootstrap_difference(curves.regret[:, :, at], curves, method, PLAIN, rng=np.random.default_rng(0))
            cells = [f"{found.mean[k]:+.4f} [{found.low[k]:+.4f}, {found.high[k]:+.4f}]" for k in range(len(at))]
            rows.append((method, *cells))
    return CsvTable(("method", *(f"@{t}" for t in at)), tuple(rows))


def _words(curves: Curves, methods: tuple[str, ...], at: list[int]) -> tuple[str, ...]:
    words = [
        f"{len(curves.runs)} runs a method, {len(curves.spaces)} spaces. Differences are macro regrets with 95 % "
        "bootstrap intervals over tasks; below 0 is better than the plain Gaussian process.",
    ]
    rank = ranks(curves.regret)
    last = at[-1]
    for method in methods:
        if method == PLAIN:
            continue
        worse = rank[curves.methods.index(_name(method, "NT"))] - rank[curves.methods.index(method)]
        found = bootstrap_difference(
            np.stack([worse, np.zeros_like(worse)])[:, :, [last]],
            curves.of_methods([_name(method, "NT"), method]),
            _name(method, "NT"),
            method,
            rng=np.random.default_rng(0),
        )
        words.append(
            f"{method}: the past that agrees least costs {found.mean[0]:+.2f} ranks after {last} trials "
            f"[{found.low[0]:+.2f}, {found.high[0]:+.2f}]."
        )
    return tuple(words)


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
