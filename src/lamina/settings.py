"""Settings: environment over a TOML file over defaults, every mistake reported at once."""

import difflib
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lamina.errors import ConfigError, InputError
from lamina.open import EMBEDDERS, OPENAI, USES, Llm, Price
from lamina.parts import Patience
from lamina.profiles import KNOBS, PROFILES, Profile, profile_named
from lamina.values.message import Limits

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

    database: str = field(
        default="lamina.db", metadata={"help": "path of the file, or a sqlite:/// or postgresql:// URL"}
    )
    tenant: str = field(default="default", metadata={"help": "whose memory it is"})
    user: str = field(default="default", metadata={"help": "user when none is given"})
    profile: Profile | None = field(
        default=None, metadata={"help": f"one of {', '.join(sorted(PROFILES))}; unset: the one the file was made with"}
    )
    embedder: str = field(
        default="static", metadata={"help": f"one of {', '.join(EMBEDDERS)}, or the address of an endpoint"}
    )
    embedder_model: str | None = field(default=None, metadata={"help": "model of the endpoint that gives vectors"})
    embedder_api_key: str | None = field(default=None, repr=False, metadata={"help": "its key", "secret": True})
    embedder_dimensions: int | None = field(default=None, metadata={"help": "of its vectors; unset: it is asked"})
    minilm_path: str | None = field(
        default=None, metadata={"help": "folder or file of MiniLM's weights; unset: the installed package has them"}
    )
    cache_mb: int = field(default=256, metadata={"help": "megabytes for what is kept at hand to search"})
    durable: bool = field(default=False, metadata={"help": "wait for the disk at each append: survives power loss"})
    log_level: str = field(default="warning", metadata={"help": f"one of {', '.join(LEVELS)}"})
    max_message_bytes: int = field(default=4 * 1024 * 1024, metadata={"help": "largest message that is stored"})
    max_append_messages: int = field(default=100_000, metadata={"help": "most messages in one append"})
    max_body_bytes: int = field(default=32 * 1024 * 1024, metadata={"help": "largest request the service reads"})
    service_hosts: str | None = field(default=None, metadata={"help": "names the service answers to, with commas"})
    service_origins: str | None = field(
        default=None, metadata={"help": "origins of pages that may call the service besides its own, with commas"}
    )
    proxy_base_url: str | None = field(default=None, metadata={"help": "endpoint of the proxy; unset: the llm's"})
    proxy_api_key: str | None = field(
        default=None, repr=False, metadata={"help": "its key; unset: the llm's or the caller's", "secret": True}
    )
    proxy_memory_tokens: int = field(default=4_000, metadata={"help": "most tokens that the proxy adds to a request"})
    proxy_place: str = field(
        default="system", metadata={"help": "where memory goes: a system message, or the user's newest message"}
    )
    proxy_seconds: float = field(default=600.0, metadata={"help": "how long the proxy waits for its endpoint"})
    proxy_at_v1: bool = field(default=False, metadata={"help": "offer the proxy at /v1, too"})
    max_requests_per_minute: int | None = field(
        default=None, metadata={"help": "requests of a key, or of an address without one; unset: any number"}
    )
    max_concurrent_requests: int = field(default=1000, metadata={"help": "requests that the service answers at once"})
    max_concurrent_requests_per_key: int = field(default=500, metadata={"help": "how many of them are of one key"})
    max_listeners_per_key: int = field(default=50, metadata={"help": "listeners for events that a key has at once"})
    max_held_bytes: int = field(
        default=256 * 1024 * 1024, metadata={"help": "memory for the bodies of requests under way"}
    )
    header_seconds: float = field(default=15.0, metadata={"help": "in which a request's head must have arrived"})
    request_seconds: float = field(default=60.0, metadata={"help": "in which a request's body must have arrived"})
    model_seconds: float = field(default=120.0, metadata={"help": "how long a fold waits for its model"})
    lease_seconds: float = field(default=60.0, metadata={"help": "how long a silent worker keeps a session"})
    mcp_token: str | None = field(
        default=None, repr=False, metadata={"help": "what clients of `lamina mcp --http` have to give", "secret": True}
    )
    llm_base_url: str | None = field(default=None, metadata={"help": "OpenAI-compatible endpoint; unset: OpenAI's"})
    llm_model: str | None = field(default=None, metadata={"help": "its model; unset with the address: no llm"})
    llm_api_key: str | None = field(default=None, repr=False, metadata={"help": "its key", "secret": True})
    llm_use: str = field(default=",".join(USES), metadata={"help": "what for, with commas between"})
    llm_thinking_tokens: int = field(default=0, metadata={"help": "room for a model that thinks before it writes"})
    llm_seconds: float = field(default=110.0, metadata={"help": "for one answer with all its tries"})
    llm_retries: int = field(default=3, metadata={"help": "of a call that failed in a way that may pass"})
    llm_concurrency: int = field(default=4, metadata={"help": "calls at the same time"})
    llm_requests_per_minute: int | None = field(default=None, metadata={"help": "most calls a minute"})
    llm_tokens_per_minute: int | None = field(default=None, metadata={"help": "most tokens a minute"})
    llm_price_input: float | None = field(default=None, metadata={"help": "price of a million tokens read"})
    llm_price_output: float | None = field(default=None, metadata={"help": "price of a million tokens written"})
    llm_budget_per_day: float | None = field(default=None, metadata={"help": "most to spend a day; then offline"})
    llm_budget_per_month: float | None = field(default=None, metadata={"help": "most to spend a month; then offline"})

    def limits(self) -> Limits:
        return Limits(message_bytes=self.max_message_bytes, append_messages=self.max_append_messages)

    def patience(self) -> Patience:
        return Patience(model_seconds=self.model_seconds, lease_seconds=self.lease_seconds)

    def has_proxy(self) -> bool:
        """Whether there is an endpoint for the proxy to ask that somebody chose."""
        return self.proxy_base_url is not None or self.llm() is not None

    def proxy_model(self) -> str | None:
        """The model that the proxy's endpoint is known to have: the llm's, if the endpoint is."""
        shared = self.proxy_base_url is None or self.proxy_base_url == self.llm_base_url
        return self.llm_model if shared else None

    def llm(self) -> Llm | None:
        """The language model, if one is named."""
        if self.llm_base_url is None and self.llm_model is None:
            return None
        prices = {}
        if self.llm_price_input is not None or self.llm_price_output is not None:
            prices["*"] = Price(input=self.llm_price_input or 0.0, output=self.llm_price_output or 0.0)
        return Llm(
            base_url=self.llm_base_url or OPENAI,
            model=self.llm_model,
            api_key=self.llm_api_key,
            use=tuple(self.llm_use.split(",")),
            thinking_tokens=self.llm_thinking_tokens,
            total_seconds=self.llm_seconds,
            retries=self.llm_retries,
            concurrency=self.llm_concurrency,
            requests_per_minute=self.llm_requests_per_minute,
            tokens_per_minute=self.llm_tokens_per_minute,
            prices=prices,
            budget_per_day=self.llm_budget_per_day,
            budget_per_month=self.llm_budget_per_month,
        )

    def vectors(self) -> Llm | str:
        """The embedder: a name, or the endpoint at an address; the language model's key is used for its own address."""
        if "://" not in self.embedder:
            return self.embedder
        if self.embedder_model is None:
            raise InputError("embedder is an address: set embedder_model too")
        shared = self.llm_api_key if self.embedder == self.llm_base_url else None
        return Llm(
            base_url=self.embedder,
            model=self.embedder_model,
            api_key=self.embedder_api_key or shared,
            dimensions=self.embedder_dimensions,
        )

    def options(self) -> dict[str, Any]:
        """How a memory is opened, whichever tenant's."""
        return {
            "profile": self.profile,
            "llm": self.llm(),
            "embedder": self.vectors(),
            "minilm_path": self.minilm_path,
            "cache_mb": self.cache_mb,
            "durable": self.durable,
            "limits": self.limits(),
            "patience": self.patience(),
        }

    def shown(self) -> dict[str, Any]:
        """All settings, without secrets."""
        values = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        for setting in fields(self):
            if setting.metadata.get("secret") and values[setting.name] is not None:
                values[setting.name] = "***"
        return values


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
    settings = Settings(profile=profile, **values)
    for check in (settings.llm, settings.vectors):
        try:
            check()
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)
    return settings


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
    if "DATABASE_URL" in environ and environ["DATABASE_URL"].startswith(("sqlite", "postgres")):
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


def _fraction(given: Any) -> float:
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise ValueError(f"takes a number, 0 or above, not {given!r}") from None
    if isinstance(given, bool) or not 0 <= number < float("inf"):
        raise ValueError(f"takes a number, 0 or above, not {given!r}")
    return number


def _whole(given: Any) -> int:
    if isinstance(given, bool) or not str(given).isdigit():
        raise ValueError(f"takes a whole number, 0 or above, not {given!r}")
    return int(given)


def _several(words: Collection[str]) -> Callable[[Any], str]:
    def read(given: Any) -> str:
        listed = given if isinstance(given, list) else str(given).split(",")
        found = [str(word).strip().lower() for word in listed if str(word).strip()]
        if not found or set(found) - set(words):
            raise ValueError(f"takes some of {', '.join(words)}, not {given!r}")
        return ",".join(found)

    return read


def _embedder(given: Any) -> str:
    return _text(given) if "://" in str(given) else _word_of(EMBEDDERS)(given)


def _origins(given: Any) -> str:
    words = [word.strip() for word in _text(given).split(",") if word.strip()]
    if wrong := [word for word in words if not re.fullmatch(r"https?://[^/?#\s@]+/?", word)]:
        raise ValueError(f"takes origins such as https://memory.example, with commas between, not {wrong[0]!r}")
    return ",".join(words)


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
    "embedder": _embedder,
    "embedder_model": _text,
    "embedder_api_key": _text,
    "embedder_dimensions": _positive(int),
    "minilm_path": _existing,
    "cache_mb": _positive(int),
    "durable": _truth,
    "log_level": _word_of(LEVELS),
    "max_message_bytes": _positive(int),
    "max_append_messages": _positive(int),
    "max_body_bytes": _positive(int),
    "service_hosts": _text,
    "service_origins": _origins,
    "proxy_base_url": _text,
    "proxy_api_key": _text,
    "proxy_memory_tokens": _positive(int),
    "proxy_place": _word_of(("system", "user")),
    "proxy_seconds": _positive(float),
    "proxy_at_v1": _truth,
    "max_requests_per_minute": _positive(int),
    "max_concurrent_requests": _positive(int),
    "max_concurrent_requests_per_key": _positive(int),
    "max_listeners_per_key": _positive(int),
    "max_held_bytes": _positive(int),
    "header_seconds": _positive(float),
    "request_seconds": _positive(float),
    "model_seconds": _positive(float),
    "lease_seconds": _positive(float),
    "mcp_token": _text,
    "llm_base_url": _text,
    "llm_model": _text,
    "llm_api_key": _text,
    "llm_use": _several(USES),
    "llm_thinking_tokens": _whole,
    "llm_seconds": _positive(float),
    "llm_retries": _whole,
    "llm_concurrency": _positive(int),
    "llm_requests_per_minute": _positive(int),
    "llm_tokens_per_minute": _positive(int),
    "llm_price_input": _fraction,
    "llm_price_output": _fraction,
    "llm_budget_per_day": _positive(float),
    "llm_budget_per_month": _positive(float),
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
