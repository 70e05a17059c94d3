"""The memory: Tasks with their Spaces and Observations, in a file or a database that many processes share."""

from headstart.memory.records import TaskRecord, TrialCounts
from headstart.memory.store import Memory

__all__ = ["Memory", "TaskRecord", "TrialCounts"]
