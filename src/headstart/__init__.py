"""Hyperparameter tuning with a memory: past tuning runs make the next one shorter."""

from typing import TYPE_CHECKING, Any

from headstart._version import __version__

if TYPE_CHECKING:
    from headstart.data import Explanation, MetaDataset, Observation, TaskData, Trial
    from headstart.errors import HeadstartError
    from headstart.memory import Memory
    from headstart.optimizer import Optimizer
    from headstart.space import Categorical, Config, Constant, Float, Int, Space

__all__ = [
    "Categorical",
    "Config",
    "Constant",
    "Explanation",
    "Float",
    "HeadstartError",
    "Int",
    "Memory",
    "MetaDataset",
    "Observation",
    "Optimizer",
    "Space",
    "TaskData",
    "Trial",
    "__version__",
]

_HOMES = {
    "headstart.space": ("Categorical", "Config", "Constant", "Float", "Int", "Space"),
    "headstart.data": ("Explanation", "MetaDataset", "Observation", "TaskData", "Trial"),
    "headstart.errors": ("HeadstartError",),
    "headstart.memory": ("Memory",),
    "headstart.optimizer": ("Optimizer",),
}


def __getattr__(name: str) -> Any:
    """Import a public name where it is first used: SQLAlchemy and SciPy would make ``import headstart`` slow."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'headstart' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
