"""Spaces of configurations: parameters, conditions, the Space itself and its files."""

from headstart.space.parameters import Categorical, Constant, Float, Int, Parameter
from headstart.space.space import Space
from headstart.space.values import Config, Value

__all__ = ["Categorical", "Config", "Constant", "Float", "Int", "Parameter", "Space", "Value"]
