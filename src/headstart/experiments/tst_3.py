"""TST, figure 3: choosing an algorithm and tuning it together, from nothing.

The data of the paper, made with Weka, are not public. In their place stand the families of a folder that were run on
the same tasks, as one conditional Space (``benchmark.suites.combined``); its own split says which tasks are past and
which are tuned. No method knows the range of the responses. ADTM is the mean of (best - found) / (best - worst) over
the tasks.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from headstart.benchmark.curves import Curves
from headstart.benchmark.methods import Method, competitors
from headstart.benchmark.metrics import adtm
from headstart.benchmark.problems import Suite
from headstart.benchmark.reports.pictures import regret_lines
from headstart.benchmark.reports.tables import Resampling
from headstart.benchmark.runner import run
from headstart.benchmark.settings import RunSettings, usual_settings
from headstart.benchmark.statistics import bootstrap_difference
from headstart.benchmark.store import read_results
from headstart.benchmark.suites.combined import combined_suite, is_described_folder
from headstart.errors import SettingsError
from headstart.experiments.adtm import REPORTED, adtm_table, adtm_with_intervals
from headstart.experiments.frame import Findings, Recipe, Work
from headstart.initial_designs import GreedyPortfolio
from headstart.naming import refuse_unknown
from headstart.surrogates import TSTR, GaussianProcess, RandomForest

WIDE = "tst-r-0.9"
"""TST-R with the bandwidth that its authors used for their Weka data."""
DESIGN_TRIALS = 5
VARIANTS = (
    Method(WIDE, TSTR(bandwidth=0.9)),
    Method("gp-after-portfolio", GaussianProcess(), GreedyPortfolio(), DESIGN_TRIALS),
    Method("rf-after-portfolio", RandomForest(), GreedyPortfolio(), DESIGN_TRIALS),
)
"""What only this experiment has. The figure's own designs, RBI and LI, do not exist here: the portfolio stands in."""
METHODS = (
    WIDE,
    "tst-r",
    "tst-r-formula",
    "taf-r",
    "rgpe",
    "prior-gp",
    "gp-after-portfolio",
    "gp",
    "rf-after-portfolio",
    "rf",
    "random",
)
SMOKE_METHODS = (WIDE, "prior-gp", "gp-after-portfolio", "random")
REPETITIONS, TRIALS = 10, 50
SMOKE_CONFIGURATIONS, SMOKE_PAST = 120, 4


def find(work: Work) -> Findings:
    """Return ADTM and average rank of all methods after every trial."""
    folder = Path(work.source.address)
    if not is_described_folder(folder):
        raise SettingsError(
            "Experiment tst-3: needs a folder with spaces.json and runs/<space>.parquet, whose families were run on "
            f"the same tasks; {work.source.address} is none."
        )
    suite = combined_suite(folder, most=SMOKE_CONFIGURATIONS if work.smoke else None)
    trials, seeds = (3, 1) if work.smoke else (TRIALS, work.seeds or REPETITIONS)
    past = SMOKE_PAST if work.smoke else None
    settings = usual_settings(suite, given=0, scale="honest", trials=trials, past_tasks=past)
    names = work.methods or (SMOKE_METHODS if work.smoke else METHODS)
    run(
        replace(work.source, suite=suite),
        _chosen(names, settings),
        settings,
        work.out / "runs",
        seeds=seeds,
        jobs=work.jobs,
        on_change=work.on_change,
        listener=work.listener,
    )
    curves = read_results(work.out / "runs").curves().of_methods(names)
    return Findings(
        table=adtm_table(curves),
        words=_words(suite, curves, seeds),
        shown={"ADTM": adtm_with_intervals(curves)},
        pictures={"regret": regret_lines(curves, Resampling(resamples=2000).interval)},
    )


def _chosen(names: Sequence[str], settings: RunSettings) -> list[Method]:
    known = {method.name: method for method in (*competitors(settings), *VARIANTS)}
    for name in names:
        refuse_unknown("method", name, known)
    return [known[name] for name in names]


def _words(suite: Suite, curves: Curves, seeds: int) -> tuple[str, ...]:
    (space,) = suite.spaces
    sizes = sorted({len(problem.y) for problem in space.test})
    pools = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    words = [
        f"{suite.name}: {len(space.columns)} encoded columns, {len(space.train)} past tasks, {len(space.test)} test "
        f"tasks with {pools} configurations each. {len(curves.methods)} methods, {seeds} "
        f"repetition{'' if seeds == 1 else 's'}; no configuration is given. Intervals: 95 %, bootstrap over the tasks.",
        f"RBI and LI, after which the paper begins I-GP and I-RF, do not exist here: {DESIGN_TRIALS} configurations of "
        "the greedy portfolio stand in. gp and rf begin with spread-out configurations, as many as a user would get. "
        f"{WIDE} has the bandwidth of the authors for their data; tst-r, tst-r-formula and taf-r choose theirs on "
        "validation tasks.",
    ]
    words += [_verdict(curves, name) for name in (WIDE, "tst-r") if name in curves.methods]
    if "prior-gp" in curves.methods:
        ours = adtm(curves)[curves.methods.index("prior-gp")]
        pairs = ", ".join(f"{ours[t]:.4f} @{t}" for t in REPORTED if t <= curves.trials)
        words.append(f"prior-gp, the default of headstart: {pairs}.")
    return tuple(words)


def _verdict(curves: Curves, ours: str) -> str:
    """Return whether TST-R, under the name ``ours``, is ahead of what the figure compares it with."""
    last = curves.trials
    own = adtm(curves)[curves.methods.index(ours), last]
    others = [name for name in curves.methods if name.partition("-")[0] in ("gp", "rf", "random")]
    words = [f"{ours} ends at {own:.4f} after {last} trials."]
    ahead: list[str] = []
    for name in others:
        found = bootstrap_difference(curves.regret[:, :, [last]], curves, ours, name, rng=np.random.default_rng(0))
        mean, low, high = float(found.mean[0]), float(found.low[0]), float(found.high[0])
        ahead += [name] if mean < 0.0 else []
        beyond = "" if low <= 0.0 <= high else ", beyond chance"
        words.append(f"Minus {name}: {mean:+.4f} [{low:+.4f}, {high:+.4f}]{beyond}.")
    held = "held" if ahead == others else "did not hold"
    words.append(
        f"The claim that it is ahead of all that begin with a design or know no past {held}: it is ahead of "
        f"{', '.join(ahead) or 'none'} of {', '.join(others) or 'none'}."
    )
    return " ".join(words)


TST_3 = Recipe(
    name="tst-3",
    title="TST, figure 3: choosing an algorithm and tuning it together",
    claim=(
        "TST-R is ahead of Gaussian processes and random forests, also where these begin with a design learned from "
        "the past (RBI, LI), in combined algorithm selection and tuning (Wistuba et al., ECML 2016, figure 3)."
    ),
    needs="a folder with spaces.json and runs/<space>.parquet, whose families share their tasks",
    find=find,
)
