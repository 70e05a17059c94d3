"""The trials of one task, in the order in which they were told, and the same in a memory where there is one."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headstart.data import Observation, State, Trial
from headstart.errors import HeadstartError, TrialError
from headstart.optimizer import arguments
from headstart.optimizer.pool import Pool
from headstart.space.values import plain, shown

if TYPE_CHECKING:
    from headstart.memory import Memory

_TOLD = ("complete", "failed")


class Ledger:
    """What an Optimizer remembers. With a memory it is on the disk first, and what others told is read back."""

    def __init__(self, memory: "Memory | None", task: str | None, pool: Pool | None) -> None:
        self.by_number: dict[int, Observation] = {}
        """All trials, those that are out included."""
        self.told: list[int] = []
        """Numbers of the complete and failed ones, in the order in which they were told."""
        self._memory = memory if task is not None else None
        self._task = task or ""
        self._pool = pool
        self._revision = 0
        self._begun: dict[int, float] = {}

    @property
    def in_hands(self) -> frozenset[int]:
        """Numbers of the trials that this object has handed out and that are still out."""
        return frozenset(self._begun)

    @property
    def next_number(self) -> int:
        """The number that a new trial gets, unless another process takes it first."""
        return max(self.by_number, default=-1) + 1

    def read(self) -> None:
        """Take over what this and other processes have stored since the last time."""
        if self._memory is None:
            return
        revision = self._memory.task(self._task).revision
        if revision == self._revision:
            return
        for one in self._memory.observations(self._task, since=self._revision):
            row = None if self._pool is None else self._pool.row_of(one.config)
            self.by_number[one.number] = replace(one, trial=replace(one.trial, row=row))
        # what others told since the line before is read, with its value, the next time
        told = self._memory.told_order(self._task)
        self.told = [number for number in told if self._is_told(number)]
        self._revision = revision

    def begin(self, trial: Trial) -> Trial | None:
        """Keep a trial that is handed out, and return it with its number.

        None where another process, which knew the same, got ahead with the same configuration: it is abandoned then.
        """
        try:
            return self._begin(trial)
        except BaseException:
            self._take_back(trial)
            raise

    def _begin(self, trial: Trial) -> Trial | None:
        expected = trial.number
        if self._memory is not None:
            number = self._memory.add_trial(
                self._task, trial.config, origin=trial.origin, told_before=trial.told_before
            )
            trial = replace(trial, number=number)
        self.by_number[trial.number] = Observation(trial, "running")
        if trial.number != expected:
            self.read()
            if any(one.number < trial.number and one.config == trial.config for one in self.by_number.values()):
                self.finish(trial.number, "abandoned")
                return None
        self._begun[trial.number] = time.monotonic()
        return trial

    def _take_back(self, trial: Trial) -> None:
        """Abandon a trial that an interruption (Ctrl-C) may have stored, but kept from being handed out."""
        with suppress(HeadstartError):
            self.read()
            for one in list(self.by_number.values()):
                is_new = one.number >= trial.number and one.state == "running"
                if is_new and one.config == trial.config:
                    self.finish(one.number, "abandoned")

    def finish(
        self,
        number: int,
        state: State,
        value: float | None = None,
        *,
        duration: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep what came of a trial; its duration is measured since ``begin`` when None."""
        if duration is None and state in _TOLD and number in self._begun:
            duration = time.monotonic() - self._begun[number]
        duration, kept = arguments.checked_duration(duration), arguments.checked_metadata(metadata)
        if self._memory is not None:
            self._memory.finish_trial(self._task, number, state=state, value=value, duration=duration, metadata=kept)
        self._begun.pop(number, None)
        self._keep(Observation(self.by_number[number].trial, state, value, duration, kept))

    def add(
        self,
        trial: Trial,
        state: State,
        value: float | None,
        *,
        duration: float | None,
        metadata: Mapping[str, Any] | None,
    ) -> Trial:
        """Keep a trial that is told already, and return it with its number."""
        duration, kept = arguments.checked_duration(duration), arguments.checked_metadata(metadata)
        if self._memory is not None:
            number = self._memory.add_observation(
                self._task, trial.config, value, failed=state == "failed", duration=duration, metadata=kept
            )
            trial = replace(trial, number=number)
        self._keep(Observation(trial, state, value, duration, kept))
        return trial

    def number_of(self, trial: Trial | int, caller: str) -> int:
        """Return the number of a trial of this task.

        Raises:
            TrialError: There is no such trial.
        """
        self.read()
        number = plain(trial.number if isinstance(trial, Trial) else trial)
        if isinstance(number, bool) or not isinstance(number, int) or number not in self.by_number:
            raise TrialError(
                f"{caller}() got trial {shown(number)}, which ask() never handed out. Use add_observation() for "
                "results from elsewhere."
            )
        if isinstance(trial, Trial) and trial.config != self.by_number[number].config:
            raise TrialError(
                f"{caller}() got trial {number}, but with another configuration than ask() handed out. Give it to the "
                "Optimizer that handed it out, and change only copies of its config."
            )
        return number

    def open_number_of(self, trial: Trial | int, caller: str) -> int:
        """Return the number of a trial that may still be told, or abandoned.

        Raises:
            TrialError: There is no such trial, or it was told before.
        """
        number = self.number_of(trial, caller)
        state = self.by_number[number].state
        if state in _TOLD:
            raise TrialError(
                f"Trial {number} was told before: it is {state}. Use add_observation() for a second result."
            )
        if state == "abandoned" and caller == "abandon":
            raise TrialError(f"Trial {number} is abandoned already. It can still be told.")
        return number

    def _is_told(self, number: int) -> bool:
        return number in self.by_number and self.by_number[number].state in _TOLD

    def _keep(self, observation: Observation) -> None:
        self.by_number[observation.number] = observation
        if observation.state in _TOLD:
            self.told.append(observation.number)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_begun": {}}  # another process has another clock
