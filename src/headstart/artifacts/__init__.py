"""Files that keep pre-trained surrogates and designs: arrays and plain text, nothing that is executed."""

from headstart.artifacts.files import About, about, load, save

__all__ = ["About", "about", "load", "save"]
