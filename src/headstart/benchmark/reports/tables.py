"""The tables of a report as plain frozen data: what is computed of Curves, ready for any renderer.

Notation: M methods, R runs, T trials. Every function takes methods in the order in which rows are to stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array
from headstart.benchmark import metrics, statistics
from headstart.benchmark.curves import Curves
from headstart.benchmark.reports.layout import after
from headstart.benchmark.statistics import CriticalDifference


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Counts:
    """How often one method was better than, equal to and worse than another."""

    wins: int
    ties: int
    losses: int


Cell: TypeAlias = float | int | str | Estimate | Counts | None


@dataclass(frozen=True)
class Column:
    """What the cells of one column are."""

    head: str
    measure: str
    """The name that csv and json give to it."""
    group: str = ""
    """What stands above the heads of several columns."""
    trial: int | None = None
    method: str | None = None
    """The method a cell is about, where columns are methods and rows are not."""
    against: str | None = None
    """The method of the column, where rows are methods too."""
    digits: int = 4
    infinite: str = "∞"
    """How infinity is written: what it means here."""
    best: Literal["low", "high"] | None = None

    @property
    def full_head(self) -> str:
        """The head with its group, for renderers that have one line only."""
        return f"{self.group} {self.head}".strip()


@dataclass(frozen=True)
class Table:
    """One table."""

    name: str
    title: str
    key: str
    """What the rows are: "method" or "space"."""
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    """The name of each row and its cells, one for each column."""
    columns: tuple[Column, ...]
    note: str = ""
    best_in: Literal["column", "row"] = "column"
    """Among which cells the best one is marked."""


@dataclass(frozen=True)
class Resampling:
    """How intervals are made."""

    seed: int = 0
    resamples: int = 10_000

    def interval(self, values: Array, curves: Curves, over: metrics.Over = "macro") -> statistics.Interval | None:
        """Return means with 95 % intervals; None where no space has a second task that could be drawn instead.

        Every call draws the same tasks, so all intervals of a report rest on the same resamples.
        """
        if not has_intervals(curves):
            return None
        rng = np.random.default_rng(self.seed)
        return statistics.bootstrap_interval(values, curves, over, rng=rng, resamples=self.resamples)


def has_intervals(curves: Curves) -> bool:
    """Return whether any space has more than one task."""
    return len({(run.space, run.task) for run in curves.runs}) > len(curves.spaces)


def reaching(curves: Curves, at: int) -> Curves | None:
    """Return the methods that have all runs up to trial ``at``; None where there is none."""
    known = [m for m, own in zip(curves.methods, curves.regret, strict=True) if not np.isnan(own[:, : at + 1]).any()]
    return curves.of_methods(known) if known else None


def compared(curves: Curves, at: int) -> Curves | None:
    """Return the same where they are several; a single method has no rank."""
    there = reaching(curves, at)
    return there if there is not None and len(there.methods) > 1 else None


# --- regret and ranks ------------------------------------------------------------------------------------------------


def overview(curves: Curves, at: Sequence[int], resampling: Resampling) -> Table:
    """Return macro regret, mean rank and micro regret at the trials ``at``, with intervals."""
    places = list(at)
    regret = curves.regret[:, :, places]
    macro = _estimates(regret, curves, "macro", resampling)
    micro = _estimates(regret, curves, "micro", resampling)
    ranked = compared(curves, max(at))
    by_rank = dict(zip(ranked.methods, _rank_cells(ranked, at, resampling), strict=True)) if ranked else {}
    nothing: tuple[Cell, ...] = (None,) * len(at) if ranked else ()
    rows = tuple(
        (method, (*macro[m], *by_rank.get(method, nothing), *micro[m])) for m, method in enumerate(curves.methods)
    )
    columns = (
        *(Column(f"@{t}", "regret_macro", "macro regret", t, best="low") for t in at),
        *(Column(f"@{t}", "rank_macro", "mean rank", t, digits=2, best="low") for t in at if ranked),
        *(Column(f"@{t}", "regret_micro", "micro regret", t, best="low") for t in at),
    )
    note = " ".join([f"{size(curves)}.", _averages(curves), ranked_among(curves, at), intervals(curves, resampling)])
    return Table("overview", "Regret and mean rank" if ranked else "Regret", "method", rows, columns, note)


def average_rank(curves: Curves, at: Sequence[int], resampling: Resampling) -> Table | None:
    """Return mean ranks over spaces and over runs, and the mean place of what was found within its pool."""
    there, ranked = reaching(curves, max(at)), compared(curves, max(at))
    if there is None:
        return None
    rows: list[list[Cell]] = [[] for _ in there.methods]
    columns: list[Column] = []
    notes: list[str] = []
    if ranked is not None:
        macro, micro = _rank_cells(ranked, at, resampling), metrics.mean_rank(ranked, "micro")[:, list(at)]
        for row, one, other in zip(rows, macro, micro, strict=True):
            row += [*one, *_cells(other)]
        columns += [Column(f"@{t}", "rank_macro", "macro rank", t, digits=2, best="low") for t in at]
        columns += [Column(f"@{t}", "rank_micro", "micro rank", t, digits=2, best="low") for t in at]
        notes.append(ranked_among(curves, at))
    pool = metrics.mean_pool_rank(there)[:, list(at)]
    if np.isfinite(pool).any():
        for row, places in zip(rows, pool, strict=True):
            row += _cells(places)
        columns += [Column(f"@{t}", "pool_rank_macro", "place in pool", t, digits=1, best="low") for t in at]
        notes.append("Place in pool: of the best configuration found, 1 is the best of all; mean over spaces.")
    if not columns:
        return None
    named = tuple((method, tuple(row)) for method, row in zip(there.methods, rows, strict=True))
    return Table("average-rank", "Average rank", "method", named, tuple(columns), " ".join(notes))


def per_space(curves: Curves, at: Sequence[int]) -> tuple[Table, ...]:
    """Return for each trial the mean regret of every method in every space; nothing where there is one space only."""
    if len(curves.spaces) == 1:
        return ()
    owns = [curves.of_space(space) for space in curves.spaces]
    tables: list[Table] = []
    for t in at:
        rows = tuple(
            (own_space, (len({run.task for run in own.runs}), *_cells(own.regret[:, :, t].mean(axis=1))))
            for own_space, own in zip(curves.spaces, owns, strict=True)
        )
        columns = (
            Column("tasks", "tasks", digits=0),
            *(Column(method, "regret", trial=t, method=method, best="low") for method in curves.methods),
        )
        title = f"Regret per space {after(t)}"
        note = "Mean over the runs of a space."
        tables.append(Table(f"per-space-{t}", title, "space", rows, columns, note, best_in="row"))
    return tuple(tables)


# --- how fast --------------------------------------------------------------------------------------------------------


def area(curves: Curves, at: Sequence[int], resampling: Resampling) -> Table:
    """Return the area under the regret curve up to each trial of ``at``."""
    until = [t for t in at if t > 0]
    areas = np.stack([metrics.area_under_regret(curves, t) for t in until], axis=2)
    cells = _estimates(areas, curves, "macro", resampling)
    columns = tuple(Column(f"{t}", "area_macro", "to trial", t, best="low") for t in until)
    note = "The mean regret from trial 0 on (trapezoidal rule): how good a method is all the way. Mean over spaces. "
    rows = tuple(zip(curves.methods, cells, strict=True))
    return Table("area", "Area under the regret curve", "method", rows, columns, note + intervals(curves, resampling))


def to_reach(curves: Curves, regrets: Sequence[float]) -> Table:
    """Return how many trials half of the runs needed to come down to each regret, and how many runs did at all."""
    rows: list[list[Cell]] = [[] for _ in curves.methods]
    for regret in regrets:
        trials = metrics.trials_to_reach(curves, regret)
        for row, needed in zip(rows, trials, strict=True):
            share = None if np.isnan(needed).any() else float(100.0 * np.isfinite(needed).mean())
            row += [_median_needed(needed), share]
    columns: list[Column] = []
    for regret in regrets:
        measure, group, beyond = f"median_trials_to_{regret:g}", f"regret {regret:g}", f">{curves.trials}"
        columns.append(Column("trials", measure, group, digits=0, infinite=beyond, best="low"))
        columns.append(Column("runs, %", f"percent_of_runs_at_{regret:g}", group, digits=0, best="high"))
    note = (
        "Median number of trials after which a run's regret is at most the given one (0: by the given configurations), "
        f"and the share of all runs that came so far within {curves.trials} trials."
    )
    named = tuple((method, tuple(row)) for method, row in zip(curves.methods, rows, strict=True))
    return Table("trials-to-reach", "Trials needed to reach a regret", "method", named, tuple(columns), note)


def equals_random(curves: Curves, at: Sequence[int]) -> Table | None:
    """Return how many trials of random search each method's trials are worth; None without random search."""
    random = next((name for name in curves.methods if name.lower() == "random"), None)
    if random is None or np.isnan(curves.of_methods([random]).regret[:, :, 0]).any():
        return None
    worth = metrics.equal_random_trials(curves, random)[:, list(at)]
    rows = tuple((method, _cells(worth[m])) for m, method in enumerate(curves.methods) if method != random)
    beyond = f">{curves.trials}"
    columns = tuple(
        Column(f"{t}", "equal_random_trials", "worth of trial", t, digits=0, infinite=beyond, best="high") for t in at
    )
    note = f"After how many trials {random} has the same mean regret (over spaces)."
    return Table("equals-random", "Worth how many trials of random search", "method", rows, columns, note)


# --- comparisons -----------------------------------------------------------------------------------------------------


def win_tie_loss(curves: Curves, at: int) -> Table | None:
    """Return for each pair how many runs each method won; None unless two methods have all runs."""
    there = compared(curves, at)
    if there is None:
        return None
    found = statistics.win_tie_loss(there, at)
    many = range(len(found.methods))
    rows = tuple(
        (
            found.methods[i],
            tuple(
                None if i == j else Counts(int(found.wins[i, j]), int(found.ties[i, j]), int(found.losses[i, j]))
                for j in many
            ),
        )
        for i in many
    )
    columns = tuple(Column(method, "runs", "vs", at, against=method, digits=0) for method in found.methods)
    note = "Runs that the method of the row won / tied / lost against that of the column."
    return Table(f"win-tie-loss-{at}", f"Wins, ties, losses {after(at)}", "method", rows, columns, note)


def critical(found: CriticalDifference) -> Table:
    """Return average ranks and adjusted p-values of all pairs."""
    order = [int(m) for m in np.argsort(found.ranks, kind="stable")]
    rows = tuple(
        (
            found.methods[i],
            (float(found.ranks[i]), *(None if i == j else float(found.adjusted[i, j]) for j in order)),
        )
        for i in order
    )
    columns = (
        Column("average rank", "rank_of_tasks", trial=found.at, digits=2),
        *(Column(found.methods[j], "p_adjusted", "p vs", found.at, against=found.methods[j], digits=3) for j in order),
    )
    title = f"Critical differences {after(found.at)}"
    return Table(f"critical-{found.at}", title, "method", rows, columns, critical_note(found))


def critical_note(found: CriticalDifference) -> str:
    """Return what was tested, on what, and what the test of all methods together says."""
    what = "tasks (mean of their seeds)" if found.kind == "tasks" else "runs (seeds taken for independent experiments)"
    how = "adjusted by Holm" if found.holm else "not corrected for being many"
    text = f"Wilcoxon signed-rank tests of all pairs on {found.blocks} {what}, p-values {how}, level {found.alpha:g}."
    if not found.holm or found.kind == "runs":
        text += " As older tables of the field do it, which finds too many differences."
    if found.friedman is not None:
        text += f" Friedman's test of all methods: p = {found.friedman:.2g}"
        text += "." if found.friedman <= found.alpha else ", so no pair counts as different."
    return text


# --- calibration and cost --------------------------------------------------------------------------------------------


def calibration(curves: Curves) -> Table | None:
    """Return density and coverage of what was predicted; None where no method predicts."""
    found = metrics.calibration(curves)
    levels = tuple(found.coverage)
    rows = tuple(
        (
            method,
            (
                float(found.density[m]),
                *(float(found.coverage[level][m]) for level in levels),
                int(found.predictions[m]),
            ),
        )
        for m, method in enumerate(found.methods)
        if found.predictions[m] > 0
    )
    if not rows:
        return None
    columns = (
        Column("negative log density", "negative_log_density", digits=2, best="low"),
        *(Column(f"in {100 * level:g} % interval", f"coverage_{100 * level:g}", digits=3) for level in levels),
        Column("predictions", "predictions", digits=0),
    )
    note = (
        "Predictions at the configurations that a method chose itself, against what was observed there; mean over "
        "spaces. Less density is better; shares should equal the probability of their interval, but a method that "
        "seeks high values is caught where it hopes too much."
    )
    without = [method for m, method in enumerate(found.methods) if found.predictions[m] == 0]
    if without:
        note += f" No predictions: {', '.join(without)}."
    return Table("calibration", "Calibration", "method", rows, columns, note)


def cost(curves: Curves) -> Table | None:
    """Return CPU time per suggestion; None where nobody measured it."""
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for method, times in zip(curves.methods, curves.cpu_ms[:, :, 1:], strict=True):
        known = times[np.isfinite(times)]
        if known.size:
            rows.append((method, (float(np.median(known)), float(np.quantile(known, 0.9)), int(known.size))))
    if not rows:
        return None
    columns = (
        Column("median, ms", "cpu_ms_median", digits=2, best="low"),
        Column("90 %, ms", "cpu_ms_90", digits=2, best="low"),
        Column("suggestions", "suggestions", digits=0),
    )
    return Table("cost", "CPU time per suggestion", "method", tuple(rows), columns, "Over all runs and trials.")


# --- sentences -------------------------------------------------------------------------------------------------------


def size(curves: Curves) -> str:
    """Return how much was compared, in words."""
    tasks = len({(run.space, run.task) for run in curves.runs})
    counts = (
        (len(curves.runs), "run"),
        (tasks, "task"),
        (len(curves.spaces), "space"),
        (len({run.seed for run in curves.runs}), "seed"),
    )
    runs, *rest = (f"{many:,} {what}{'' if many == 1 else 's'}" for many, what in counts)
    each = " of each method" if len(curves.methods) > 1 else ""
    return f"{runs}{each} ({', '.join(rest)})"


def ranked_among(curves: Curves, at: Sequence[int]) -> str:
    """Return the list of competitors that ranks are taken among, and who is not one of them."""
    ranked = compared(curves, max(at))
    if ranked is None:
        return f"No ranks: they need two methods with all runs up to trial {max(at)}."
    text = f"Ranks are among {', '.join(ranked.methods)}."
    left = [method for method in curves.methods if method not in ranked.methods]
    if left:
        text += f" Not ranked, as runs end before trial {max(at)}: {', '.join(left)}."
    return text


def intervals(curves: Curves, resampling: Resampling) -> str:
    """Return how intervals were made."""
    if not has_intervals(curves):
        return "No intervals: they come from drawing tasks again, and every space has one only."
    return (
        f"Intervals: 95 %, bootstrap over the tasks of each space ({resampling.resamples:,} resamples, "
        f"seed {resampling.seed})."
    )


def _averages(curves: Curves) -> str:
    if len(curves.spaces) == 1:
        return "With one space, macro and micro are the same."
    return "Macro: mean over spaces of each space's mean; micro: mean over runs."


# --- cells -----------------------------------------------------------------------------------------------------------


def _rank_cells(ranked: Curves, at: Sequence[int], resampling: Resampling) -> list[tuple[Cell, ...]]:
    return _estimates(metrics.ranks(ranked.regret[:, :, list(at)]), ranked, "macro", resampling)


def _estimates(values: Array, curves: Curves, over: metrics.Over, resampling: Resampling) -> list[tuple[Cell, ...]]:
    """Return the cells [M][k] of ``values`` [M, R, k]."""
    found = resampling.interval(values, curves, over)
    if found is None:
        return [_cells(row) for row in metrics.averaged(values, curves, over)]
    return [
        tuple(
            None if np.isnan(mean) else Estimate(float(mean), float(low), float(high))
            for mean, low, high in zip(*rows, strict=True)
        )
        for rows in zip(found.mean, found.low, found.high, strict=True)
    ]


def _cells(values: Array) -> tuple[Cell, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)


def _median_needed(needed: Array) -> float | None:
    """Return the median of the trials needed; None where runs that end early leave it open."""
    at_most = float(np.median(np.where(np.isnan(needed), np.inf, needed)))
    at_least = float(np.median(np.where(np.isnan(needed), 0.0, needed)))
    return at_most if at_most == at_least else None
