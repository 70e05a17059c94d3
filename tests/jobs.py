"""Jobs that other processes can import."""

import os
import signal
from dataclasses import dataclass

from headstart.errors import DataError
from headstart.processes import Report


@dataclass(frozen=True)
class Square:
    """Three steps and an answer."""

    number: int

    def run(self, report: Report) -> int:
        """Return the square."""
        for _ in range(3):
            report("step", float(self.number))
        return self.number**2


@dataclass(frozen=True)
class Failing:
    """An error of the user's."""

    def run(self, report: Report) -> int:
        """Fail."""
        raise DataError("of a job")


@dataclass(frozen=True)
class Dying:
    """What the machine does where memory is short."""

    def run(self, report: Report) -> int:
        """Leave no answer."""
        os.kill(os.getpid(), signal.SIGKILL)
        return 0
