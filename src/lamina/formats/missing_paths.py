"""Paths of an import that are not there; apart from the formats, which take time to load."""

from pathlib import Path


def no_such_path(path: Path) -> str:
    """What is said of a path that is not there."""
    where = "" if path.is_absolute() else f" in {Path.cwd()}"
    return f"there is no file or folder {str(path)!r}{where}; give the path of a file, a folder or a .zip archive"
