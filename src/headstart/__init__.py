"""Hyperparameter tuning with a memory: past tuning runs make the next one shorter."""

from headstart._version import __version__

__all__ = ["__version__"]
