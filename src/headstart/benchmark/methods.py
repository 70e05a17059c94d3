"""The named, configured competitors: every surrogate as its users get it, and the variants that tables need.

A surrogate that is not named here competes under its own name with its own defaults; so a new one is in every table at
once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart import initial_designs, surrogates
from headstart.benchmark.settings import RunSettings
from headstart.errors import SettingsError
from headstart.naming import refuse_unknown
from headstart.protocols import InitialDesign, Surrogate
from headstart.surrogates.ensemble_weights import EnsembleWeights

WHOLE_RUN = 1_000_000
"""More trials than any run has."""


@dataclass(frozen=True)
class Method:
    """A competitor of a table."""

    name: str
    surrogate: Surrogate
    design: InitialDesign | None = None
    """Gives the first configurations; the one that a user would get when None."""
    design_trials: int | None = None
    """How many configurations the design waits for; as many as the surrogate needs when None."""

    @property
    def settings(self) -> str:
        """Everything that was configured, in words; changes with any setting."""
        return f"{self.surrogate!r}, {self.design!r}, {self.design_trials}"


def competitors(settings: RunSettings) -> tuple[Method, ...]:
    """Return all methods that a table may have."""
    own = [getattr(surrogates, listed) for listed in surrogates.__all__]
    found = {kind.name: Method(kind.name, kind()) for kind in own}
    variants = [
        # on a pool its own scores are uniform, too, and cost less than asking a design for its whole sequence
        Method("random", surrogates.Random() if settings.continuous else surrogates.Random(minimum_observations=0)),
        Method("tst-r-formula", surrogates.TSTR(preset="formula")),
        Method("tst-m-formula", surrogates.TSTM(preset="formula")),
        Method("taf-p", surrogates.TAFR(weights="poe")),
        Method("rgpe-samples", surrogates.RGPE(ranking=EnsembleWeights(losses="samples"))),
        Method("prior-gp-ungated", surrogates.PriorGP(gate=None)),
        Method("prior-gp-forest", surrogates.PriorGP(source="forest")),
        Method("prior-gp-gp", surrogates.PriorGP(source="gp")),
        Method("prior-gp-both", surrogates.PriorGP(source="both")),
        *(_design_alone(getattr(initial_designs, listed)()) for listed in initial_designs.__all__),
        _design_alone(initial_designs.AverageBest(rows="past"), "-of-past"),
        _design_alone(initial_designs.GreedyPortfolio(rows="past"), "-of-past"),
    ]
    found.update({method.name: method for method in variants})
    return tuple(found.values())


def _design_alone(design: InitialDesign, suffix: str = "") -> Method:
    """Return a design that goes on for the whole run."""
    return Method(f"design-{design.name}{suffix}", surrogates.Random(), design, WHOLE_RUN)


def chosen(names: Sequence[str], settings: RunSettings) -> tuple[Method, ...]:
    """Return the methods of these names, in order.

    Raises:
        SettingsError: One is unknown; the message has the closest names.
    """
    known = {method.name: method for method in competitors(settings)}
    for name in names:
        refuse_unknown("method", name, known)
    if len(set(names)) < len(names):
        raise SettingsError(f"Benchmark: a method is named twice in {', '.join(names)}. Name each once.")
    return tuple(known[name] for name in names)
