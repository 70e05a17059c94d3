"""All errors of headstart.

Every message names the object, the rule, what came and what to do. Every class is a ``HeadstartError`` and also the
builtin that a caller would expect.
"""


class HeadstartError(Exception):
    """Base of all errors that headstart raises on purpose."""


class SpaceError(HeadstartError, ValueError):
    """A parameter, a condition or a Space is not well formed."""


class ConfigError(HeadstartError, ValueError):
    """A configuration does not belong to its Space."""


class SpaceExhaustedError(HeadstartError, RuntimeError):
    """Every configuration of a finite Space or pool has been handed out."""


class DataError(HeadstartError, ValueError):
    """Arrays or values have the wrong shape, range or content."""


class SettingsError(HeadstartError, ValueError):
    """A setting of a method or of the Optimizer is outside its range."""


class TrialError(HeadstartError, ValueError):
    """A trial is unknown or was told before."""


class NotFittedError(HeadstartError, ValueError):
    """A method was asked for something before it had any data."""


class NumericalError(HeadstartError, ArithmeticError):
    """A matrix could not be factorised, even with the largest jitter."""


class MemoryStoreError(HeadstartError, RuntimeError):
    """A memory cannot be opened, read or written."""


class TaskNotFoundError(MemoryStoreError, KeyError):
    """A memory has no task of that name."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class ArtifactError(HeadstartError, RuntimeError):
    """A stored surrogate cannot be written, or its file is stale, foreign or damaged."""


class MissingDependencyError(HeadstartError, ImportError):
    """An optional package is not installed."""
