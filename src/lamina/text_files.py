"""Text files that a user names: their text, or in plain words why they cannot be read."""

from pathlib import Path

from lamina.errors import InputError


def read_text_file(path: Path) -> str:
    """The text of a file; raises InputError with what is wrong with the file."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; save it as UTF-8") from None
    except (OSError, ValueError) as error:
        raise InputError(explain_path(path, error)) from None


def explain_path(path: Path, error: OSError | ValueError) -> str:
    """Why a path cannot be read or written."""
    if path.is_dir():
        return f"{path} is a folder, not a file"
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if isinstance(error, FileNotFoundError):
        return f"there is no file {path}"
    if isinstance(error, PermissionError):
        return f"{path} is not accessible: this user may not read or write it"
    return f"{path} cannot be used: {getattr(error, 'strerror', None) or error}"
