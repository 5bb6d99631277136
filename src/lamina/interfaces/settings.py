"""Settings: environment over a TOML file over defaults, every mistake reported at once."""

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lamina.engine.parts import Patience
from lamina.errors import ConfigError, InputError
from lamina.policy.messages import Limits
from lamina.profiles import KNOBS, PROFILES, Profile, profile_named
from lamina.wiring import EMBEDDERS

# The seven knobs of document 003 keep their names.
DOCUMENT_KNOBS: Mapping[str, str] = {
    "MEMORY_K_RAW_TURNS": "k_raw_turns",
    "MEMORY_SUMMARY_TOKEN_CAP": "summary_token_cap",
    "MEMORY_PROMPT_TOKEN_BUDGET": "prompt_token_budget",
    "MEMORY_CHUNK_SUMMARIZE_THRESHOLD": "chunk_summarize_threshold",
    "MEMORY_SUMMARIZER_MODEL": "summarizer_model",
    "PROMPT_ID_SUMMARY_GLOBAL": "prompt_id_summary_global",
    "PROMPT_VERSION_SUMMARY_GLOBAL": "prompt_version_summary_global",
}
LEVELS = ("debug", "info", "warning", "error")
_LIST_KNOBS = frozenset({"categories", "never_archived"})  # values of a profile that are lists of words
_TEXT_KNOBS = frozenset({"summarizer_model", "prompt_id_summary_global", "prompt_version_summary_global"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the command line and the service are run with; each is also LAMINA_<NAME> and a key of lamina.toml."""

    database: str = field(default="lamina.db", metadata={"help": "path of the file, or sqlite:///path"})
    tenant: str = field(default="default", metadata={"help": "whose memory it is"})
    user: str = field(default="default", metadata={"help": "user when none is given"})
    profile: Profile | None = field(
        default=None, metadata={"help": f"one of {', '.join(sorted(PROFILES))}; unset: the one the file was made with"}
    )
    embedder: str = field(default="static", metadata={"help": f"one of {', '.join(EMBEDDERS)}"})
    minilm_path: str | None = field(
        default=None, metadata={"help": "folder or file of MiniLM's weights; unset: the installed package has them"}
    )
    cache_mb: int = field(default=256, metadata={"help": "megabytes for what is kept at hand to search"})
    durable: bool = field(default=False, metadata={"help": "wait for the disk at each append: survives power loss"})
    log_level: str = field(default="warning", metadata={"help": f"one of {', '.join(LEVELS)}"})
    max_message_bytes: int = field(default=4 * 1024 * 1024, metadata={"help": "largest message that is stored"})
    max_append_messages: int = field(default=100_000, metadata={"help": "most messages in one append"})
    model_seconds: float = field(default=120.0, metadata={"help": "how long a fold waits for its model"})
    lease_seconds: float = field(default=60.0, metadata={"help": "how long a silent worker keeps a session"})

    def limits(self) -> Limits:
        return Limits(message_bytes=self.max_message_bytes, append_messages=self.max_append_messages)

    def patience(self) -> Patience:
        return Patience(model_seconds=self.model_seconds, lease_seconds=self.lease_seconds)


NAMES = tuple(setting.name for setting in fields(Settings))


def load_settings(environ: Mapping[str, str], toml_path: Path | None = None) -> Settings:
    """Settings from the environment and a TOML file; raises ConfigError with every problem there is."""
    problems: list[str] = []
    told = _from_toml(toml_path or _named_file(environ), problems)
    values: dict[str, Any] = {}
    knobs: dict[str, Any] = {}
    for name, value in told.items():
        if name == "profile_values" and isinstance(value, dict):
            knobs.update({knob: _told_knob(knob, told_value) for knob, told_value in value.items()})
        elif name in NAMES:
            _take(values, name, value, f"lamina.toml: {name}", problems)
        else:
            problems.append(f"lamina.toml: {_unknown(name, (*NAMES, 'profile_values'))}")
    _from_environ(environ, values, knobs, problems)
    profile = _profile(values.pop("profile", None), knobs, problems)
    if problems:
        raise ConfigError(problems)
    return Settings(profile=profile, **values)


def _named_file(environ: Mapping[str, str]) -> Path | None:
    if named := environ.get("LAMINA_CONFIG"):
        return Path(named)
    here = Path("lamina.toml")
    return here if here.is_file() else None


def _from_toml(path: Path | None, problems: list[str]) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        problems.append(f"{path}: {error}")
        return {}


def _from_environ(
    environ: Mapping[str, str], values: dict[str, Any], knobs: dict[str, Any], problems: list[str]
) -> None:
    if "DATABASE_URL" in environ and environ["DATABASE_URL"].startswith("sqlite"):
        values["database"] = environ["DATABASE_URL"]
    for variable, text in sorted(environ.items()):
        if variable in DOCUMENT_KNOBS:
            knobs[DOCUMENT_KNOBS[variable]] = _knob(DOCUMENT_KNOBS[variable], text)
        elif variable.startswith("LAMINA_PROFILE_"):
            name = variable.removeprefix("LAMINA_PROFILE_").lower()
            knobs[name] = _knob(name, text)
        elif variable.startswith("LAMINA_") and variable != "LAMINA_CONFIG":
            name = variable.removeprefix("LAMINA_").lower()
            if name in NAMES:
                _take(values, name, text, variable, problems)
            else:
                problems.append(_unknown(variable, [f"LAMINA_{known.upper()}" for known in (*NAMES, "config")]))


def _unknown(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"{name} is no setting" + (f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}")


def _told_knob(name: str, value: Any) -> Any:
    """A value of a profile as TOML has it: lists become tuples, and `none` is how nothing is said."""
    if isinstance(value, list):
        return tuple(value)
    return _knob(name, value) if isinstance(value, str) else value


def _knob(name: str, text: str) -> Any:
    if name in _TEXT_KNOBS:
        return text
    if text.lower() == "none":
        return () if name in _LIST_KNOBS else None
    if name in _LIST_KNOBS:
        return tuple(word.strip() for word in text.split(",") if word.strip())
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _take(values: dict[str, Any], name: str, given: Any, where: str, problems: list[str]) -> None:
    try:
        values[name] = _READERS[name](given)
    except (ValueError, TypeError) as error:
        problems.append(f"{where}: {error}")


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"takes text, not {given!r}")
    return given


def _truth(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    if str(given).lower() in {"1", "true", "yes", "on"}:
        return True
    if str(given).lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"takes true or false, not {given!r}")


def _positive(kind: type[int] | type[float]) -> Callable[[Any], int | float]:
    def read(given: Any) -> int | float:
        try:
            number = kind(given)
        except (TypeError, ValueError):
            raise ValueError(f"takes a number above 0, not {given!r}") from None
        if isinstance(given, bool) or number <= 0:
            raise ValueError(f"takes a number above 0, not {given!r}")
        return number

    return read


def _word_of(words: Collection[str]) -> Callable[[Any], str]:
    def read(given: Any) -> str:
        if str(given).lower() not in words:
            raise ValueError(f"is one of {', '.join(words)}, not {given!r}")
        return str(given).lower()

    return read


def _existing(given: Any) -> str:
    path = Path(_text(given)).expanduser()
    if not path.exists():
        raise ValueError(f"there is no {path}")
    return str(path)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "database": _text,
    "tenant": _text,
    "user": _text,
    "profile": lambda given: profile_named(_text(given)),
    "embedder": _word_of(EMBEDDERS),
    "minilm_path": _existing,
    "cache_mb": _positive(int),
    "durable": _truth,
    "log_level": _word_of(LEVELS),
    "max_message_bytes": _positive(int),
    "max_append_messages": _positive(int),
    "model_seconds": _positive(float),
    "lease_seconds": _positive(float),
}


def _profile(profile: Profile | None, knobs: Mapping[str, Any], problems: list[str]) -> Profile | None:
    """The profile with its knobs set; knobs of document 003 without a profile mean that document's profile."""
    if not knobs:
        return profile
    chosen = profile or profile_named("chunked" if set(knobs) <= set(DOCUMENT_KNOBS.values()) else "default")
    for name, value in knobs.items():
        try:
            chosen = chosen.but(**{name: value})
        except InputError as error:
            near = difflib.get_close_matches(name, [*KNOBS, *PROFILES["default"].__dataclass_fields__], n=1)
            problems.append(
                f"{error}"
                if not near or near[0] == name
                else f"{name} is no value of a profile; did you mean {near[0]}?"
            )
    return chosen
