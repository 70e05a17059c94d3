"""Tasks made of formulas: sinusoids, moved and turned Branin and Hartmann functions, and a mixed conditional Space.

How much past and target have in common is one number, the same for all families. A task's parameters (``surfaces``) lie
between those of the plain function, which all tasks share, and parameters of its own:

    theta = plain + (1 - |related|) (own - plain)

    1       past tasks and targets are one and the same function
    0.8     similar: their rank correlation (Kendall's tau) is between .44 and .78, by family
    0.5     distant: between .05 and .43
    0       nothing in common but the family: 0, in the mixed Space .17, where all bowls are low in the middle
    -1      adversarial: the past is that function negated, its optimum lies where the target is worst

Between 0 and -1 the past tasks are negated, too. Targets are never negated, but lie as far apart as past tasks do. At 0
the sinusoids are those of the DKLM paper: amplitude uniform on [0.1, 5], any phase.
"""

import hashlib
from collections.abc import Collection

import numpy as np

from headstart.benchmark.problems import Objective, Problem, Suite, SuiteSpace, checked_problem
from headstart.benchmark.settings import named_rng
from headstart.benchmark.suites.surfaces import FAMILIES, Family, member
from headstart.encoding import Encoding
from headstart.errors import SettingsError
from headstart.numerics.low_discrepancy import sobol
from headstart.space import units
from headstart.space.values import as_number, is_count, shown

VERSION = 1
"""Goes up with every change of what is made."""
SEEDS = ("test0", "test1", "test2", "test3", "test4")
GIVEN = 5
PAST_ROWS = 100
"""How many configurations of a past task are known: other ones of each, as of tasks that were tuned."""


def synthetic_suite(
    *,
    related: float = 0.8,
    spaces: Collection[str] | None = None,
    train: int = 20,
    validation: int = 5,
    test: int = 10,
) -> Suite:
    """Return the suite; the same arguments always give the same tasks.

    A task depends on its name and on ``related`` only, so that fewer tasks or spaces leave the others as they are.

    Args:
        related: What past and targets have in common, from 1 (all) to -1 (the contrary).
        spaces: Names of families; all when None.
        train: Past tasks of each.
        validation: Targets on which choices are made.
        test: Targets of the tables.

    Raises:
        SettingsError: An argument is out of range.
    """
    number = as_number(related)
    if number is None or not -1.0 <= number <= 1.0:
        raise SettingsError(f"Synthetic suite: related must be a number from -1 to 1, got {shown(related)}.")
    counts = {"train": train, "validation": validation, "test": test}
    for name, count in counts.items():
        if not is_count(count, 0):
            raise SettingsError(f"Synthetic suite: {name} must be a whole number of at least 0, got {shown(count)}.")
    names = list(FAMILIES) if spaces is None else list(dict.fromkeys(spaces))
    for name in names:
        if name not in FAMILIES:
            raise SettingsError(
                f"Synthetic suite: there is no space {shown(name)}. The spaces are {', '.join(FAMILIES)}."
            )
    settings = "\0".join(map(str, (VERSION, number, *counts.values(), *names)))
    fingerprint = hashlib.sha256(settings.encode()).hexdigest()[:16]
    made = tuple(_space(FAMILIES[name], number, counts) for name in names)
    return Suite(f"synthetic, related {number:g}", made, fingerprint, given=GIVEN)


def _space(family: Family, related: float, counts: dict[str, int]) -> SuiteSpace:
    encoding = Encoding(family.space)
    if family.name == "sinusoid":
        quantiles = np.linspace(0.0, 1.0, family.rows)[:, None]
    else:
        quantiles = sobol(family.rows, len(family.space), rng=named_rng("synthetic", VERSION, family.name, "pool"))
    configs = units.to_configs(family.space, units.from_quantiles(family.space, quantiles))
    u = units.from_configs(family.space, configs)  # of the configurations as they are, with rounded numbers
    x = encoding.rows(u)
    x.setflags(write=False)

    def problem(split: str, number: int) -> Problem:
        name = f"{split}-{number:02d}"
        sign = -1.0 if split == "train" and related < 0.0 else 1.0
        rng = named_rng("synthetic", VERSION, family.name, name)
        surface = member(family, 1.0 - abs(related), sign, rng)
        y = surface.at(u)
        low, high = surface.extremes()
        objective = Objective(family.space, surface, min(low, float(y.min())), max(high, float(y.max())))
        past_rows = np.sort(rng.permutation(len(y))[:PAST_ROWS]) if split == "train" else None
        given = {
            seed: tuple(named_rng("given", VERSION, family.name, name, seed).permutation(len(y))[:GIVEN].tolist())
            for seed in SEEDS
        }
        made = Problem(family.name, name, x, y, given=given, past_rows=past_rows, objective=objective)
        return checked_problem(made, "Synthetic suite")

    splits = {split: tuple(problem(split, number) for number in range(count)) for split, count in counts.items()}
    return SuiteSpace(family.name, encoding.columns, splits["train"], splits["validation"], splits["test"])
