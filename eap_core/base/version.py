"""The version, in a place of its own: what is below the public face may say it too."""

__version__ = "0.1.0"
