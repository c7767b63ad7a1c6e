"""Which Plait this is."""

from importlib.metadata import PackageNotFoundError, version


def plait_version() -> str:
    """The installed version, such as ``0.1.0``."""
    try:
        return version("plait")
    except PackageNotFoundError:
        return "unknown"
