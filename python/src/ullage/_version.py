"""The package's version, for pyproject.toml and for ullage.__version__."""

__version__ = "0.1.0.dev0"
