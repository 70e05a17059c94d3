"""The ask/tell loop, and what it is made of."""

from headstart.optimizer.asktell import Optimizer

__all__ = ["Optimizer"]
