"""When to stop: does what one more trial is expected to gain come true, and what does a run that ends by it cost?

Gains are shares of the task's range here. The gain expected of a trial is the expected improvement of its predicted
mean and deviation on the best so far; what came is the improvement. Both are averaged over trials of like forecasts.
Then each run is ended, in hindsight, at the first trial whose forecast is below a threshold, as ``stop_below`` would.
"""

from itertools import pairwise

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.curves import Curves
from headstart.benchmark.reports.pictures import Lines
from headstart.benchmark.settings import usual_settings
from headstart.experiments.frame import CsvTable, Findings, Recipe, Row, Work
from headstart.numerics.expected_improvement import expected_improvement

METHODS = ("prior-gp", "gp")
THRESHOLDS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
EDGES = np.array([-np.inf, -4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, np.inf])
"""Of the classes of forecasts: powers of ten."""
FEWEST = 20
"""Trials of a class that is shown."""
TRIALS, SEEDS = 50, 2


def find(work: Work) -> Findings:
    """Return forecasts against what came, and what thresholds cost."""
    has_validation = any(space.validation for space in work.suite.spaces)
    settings = usual_settings(
        work.suite,
        tasks="validation" if has_validation else "test",
        scale="honest",
        trials=5 if work.smoke else TRIALS,
    )
    methods = work.methods or METHODS
    spaces = [work.suite.spaces[0].name] if work.smoke else None
    results = work.results("runs", methods, settings, seeds=1 if work.smoke else work.seeds or SEEDS, spaces=spaces)
    curves = results.curves().of_methods(methods)
    forecast = forecasts(curves)
    came = curves.regret[:, :, :-1] - curves.regret[:, :, 1:]
    classes = _classes(curves, forecast, came)
    saved = _saved(curves, forecast)
    return Findings(
        table=classes,
        words=(
            f"{len(curves.runs)} runs a method on {settings.tasks} tasks of {len(curves.spaces)} spaces, nobody knows "
            "the range of the responses. A ratio of 1 says that forecasts come true on average.",
            _ratio_words(curves, forecast, came),
        ),
        shown={"What was expected and what came": classes, "Runs that end by it": saved},
        extra={"thresholds.csv": saved},
        pictures={"forecasts": _picture(curves, classes)},
    )


def forecasts(curves: Curves) -> Array:
    """Return [M, R, T]: the improvement expected of each trial; NaN where none was chosen or nothing was predicted."""
    best = 1.0 - curves.regret[:, :, :-1]
    mean, std = curves.mean[:, :, 1:], curves.std[:, :, 1:]
    flat = expected_improvement((mean - best).ravel(), std.ravel(), 0.0)
    return flat.reshape(best.shape)


def _classes(curves: Curves, forecast: Array, came: Array) -> CsvTable:
    rows: list[Row] = []
    with np.errstate(divide="ignore"):
        power = np.log10(forecast)
    for m, method in enumerate(curves.methods):
        for low, high in pairwise(EDGES):
            here = (power[m] >= low) & (power[m] < high)
            count = int(here.sum())
            if count < min(FEWEST, forecast[m].size // 20 + 1):
                continue
            expected, real = float(forecast[m][here].mean()), came[m][here]
            error = float(real.std() / np.sqrt(count))
            rows.append((method, count, expected, float(real.mean()), error, float(real.mean()) / expected))
    return CsvTable(("method", "trials", "expected", "came", "standard_error", "ratio"), tuple(rows))


def _saved(curves: Curves, forecast: Array) -> CsvTable:
    """Return trials and regret of runs that end at the first forecast below each threshold."""
    rows: list[Row] = []
    trials = curves.trials
    for m, method in enumerate(curves.methods):
        rows.append((method, 0.0, float(trials), float(curves.regret[m, :, -1].mean())))
        for threshold in THRESHOLDS:
            # a run that found the best of its pool has no forecasts any more: it ended there
            below = np.where(np.isnan(forecast[m]), True, forecast[m] < threshold)
            ends = np.where(below.any(axis=1), below.argmax(axis=1), trials)
            regret = curves.regret[m, np.arange(len(ends)), ends]
            rows.append((method, threshold, float(ends.mean()), float(regret.mean())))
    return CsvTable(("method", "stop_below", "mean_trials", "mean_regret"), tuple(rows))


def _ratio_words(curves: Curves, forecast: Array, came: Array) -> str:
    known = np.isfinite(forecast)
    ratios = [
        f"{method} {came[m][known[m]].sum() / max(forecast[m][known[m]].sum(), 1e-300):.2f}"
        for m, method in enumerate(curves.methods)
    ]
    return f"What came, as a share of what was expected, over all trials: {', '.join(ratios)}."


def _picture(curves: Curves, classes: CsvTable) -> Lines:
    """Return log10 of what came against log10 of what was expected; the ideal is a line of its own."""
    x = np.linspace(-4.5, -0.5, 33)
    values = np.full((len(curves.methods) + 1, len(x)), np.nan)
    for m, method in enumerate(curves.methods):
        rows = [row for row in classes.rows if row[0] == method and float(row[3]) > 0]
        if len(rows) > 1:
            expected = np.log10([float(row[2]) for row in rows])
            inside = (x >= expected.min()) & (x <= expected.max())
            values[m, inside] = np.interp(x[inside], expected, np.log10([float(row[3]) for row in rows]))
    values[-1] = x
    return Lines(
        title="Improvement that came against improvement expected",
        x_label="log10 of the expected improvement, as a share of the range",
        y_label="log10 of what came",
        methods=(*curves.methods, "as expected"),
        x=x,
        values=values,
        note="Below the line forecasts promise too much, above it too little.",
    )


STOPPING = Recipe(
    name="stopping",
    title="When to stop: forecasts of improvement against what came",
    claim=(
        "Tuning on for nothing is not free (DKLM, section 7, warns of it); a model that knows what it does not know "
        "can say when to stop. The question is whether ours can."
    ),
    needs="a suite with validation tasks",
    find=find,
)
