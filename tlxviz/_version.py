"""The version of tlxviz: a module of its own, so that every room can say it and none imports the whole package."""

__version__ = "0.1.0"
