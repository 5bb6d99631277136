"""Settings from the environment, a TOML file and defaults, in this order; all mistakes are reported at once."""

import difflib
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

from lamina.errors import ConfigError, InputError
from lamina.log.default_user import DEFAULT_USER
from lamina.open import EMBEDDERS, OPENAI, USES, Llm, Price
from lamina.parts import Patience
from lamina.profiles import KNOBS, PROFILES, Profile, profile_named
from lamina.text_files import read_text_file
from lamina.values.message import Limits

# Variables that set values of the profile `chunked`.
DOCUMENT_KNOBS: Mapping[str, str] = {
    "MEMORY_K_RAW_TURNS": "k_raw_turns",
    "MEMORY_SUMMARY_TOKEN_CAP": "summary_token_cap",
    "MEMORY_PROMPT_TOKEN_BUDGET": "prompt_token_budget",
    "MEMORY_CHUNK_SUMMARIZE_THRESHOLD": "chunk_summarize_threshold",
    "MEMORY_SUMMARIZER_MODEL": "summarizer_model",
    "PROMPT_ID_SUMMARY_GLOBAL": "prompt_id_summary_global",
    "PROMPT_VERSION_SUMMARY_GLOBAL": "prompt_version_summary_global",
}
OFF = "off"
LEVELS = ("debug", "info", "warning", "error")
# values of a profile that are lists of words
_LIST_KNOBS = frozenset({"categories", "never_archived", "recalled_kinds"})
_TEXT_KNOBS = frozenset({"summarizer_model", "prompt_id_summary_global", "prompt_version_summary_global"})


def without_password(url: str) -> str:
    """An address without what may be secret in it: user, password and parameters."""
    return re.sub(r"//[^/?#]*@", "//", re.split(r"[?#]", url, maxsplit=1)[0])


# readers of single values: each returns the value, or raises ValueError with what it accepts


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"takes text, not {given!r}")
    return given


def _flag(given: Any) -> bool:
    if str(given).lower() in {"1", "true", "yes", "on"}:
        return True
    if str(given).lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"takes true or false, not {given!r}")


def _number(kind: type[int] | type[float], *, zero: bool = False) -> Callable[[Any], int | float]:
    what = ("a whole number" if kind is int else "a number") + (", 0 or above" if zero else " above 0")

    def read(given: Any) -> int | float:
        try:
            number = -1 if isinstance(given, bool) or (kind is int and isinstance(given, float)) else kind(given)
        except (TypeError, ValueError, OverflowError):
            number = -1
        if not number >= 0 or number == (float("inf") if zero else 0):
            raise ValueError(f"takes {what}, not {given!r}")
        return number

    return read


def _choice(words: Collection[str]) -> Callable[[Any], str]:
    def read(given: Any) -> str:
        if str(given).lower() not in words:
            raise ValueError(f"is one of {', '.join(words)}, not {given!r}")
        return str(given).lower()

    return read


def _choices(words: Collection[str]) -> Callable[[Any], str]:
    def read(given: Any) -> str:
        items = given if isinstance(given, list) else str(given).split(",")
        found = [str(word).strip().lower() for word in items if str(word).strip()]
        if not found or set(found) - set(words):
            raise ValueError(f"takes some of {', '.join(words)}, not {given!r}")
        return ",".join(found)

    return read


def _embedder(given: Any) -> str:
    return _text(given) if "://" in str(given) else _choice(EMBEDDERS)(given)


def _origins(given: Any) -> str:
    words = [word.strip() for word in _text(given).split(",") if word.strip()]
    if wrong := [word for word in words if not re.fullmatch(r"https?://[^/?#\s@]+/?", word)]:
        raise ValueError(f"takes origins such as https://memory.example, separated by commas, not {wrong[0]!r}")
    return ",".join(words)


def _address(given: Any) -> str:
    if not re.fullmatch(r"https?://[^/?#\s]+(/[^?#\s]*)?", _text(given)):
        raise ValueError(f"takes an address such as http://localhost:11434/v1, not {_text(given)!r}")
    return _text(given)


def _user_or_off(given: Any) -> str:
    return OFF if str(given).strip().lower() in {"off", "none", "no", "false", "0"} else _text(given)


def _path(given: Any) -> str:
    path = Path(_text(given)).expanduser()
    if not path.exists():
        raise ValueError(f"there is no {path}")
    return str(path)


_BY_TYPE: Mapping[Any, Callable[[Any], Any]] = {str: _text, bool: _flag, int: _number(int), float: _number(float)}
_COUNT, _PRICE = _number(int, zero=True), _number(float, zero=True)


def _setting(default: Any, read: Callable[[Any], Any]) -> Any:
    """A setting whose values need another reader than its type has."""
    return field(default=default, metadata={"read": read})


def _secret() -> Any:
    return field(default=None, repr=False, metadata={"secret": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the command line and the service; each is also LAMINA_<NAME> and a key of lamina.toml."""

    database: str = "lamina.db"  # path of the file, or a sqlite:/// or postgresql:// URL
    tenant: str = "default"
    user: str | None = None  # user when a command names none; unset: `default`, if there is no other
    profile: Profile | None = field(  # unset: the one the file was made with
        default=None, metadata={"read": lambda given: profile_named(_text(given))}
    )
    embedder: str = _setting("auto", _embedder)  # a name, or the address of an endpoint
    embedder_model: str | None = None  # model of that endpoint
    embedder_api_key: str | None = _secret()
    embedder_dimensions: int | None = None  # of its vectors; unset: it is asked
    minilm_path: str | None = _setting(None, _path)  # folder or file of MiniLM's weights; unset: a package's
    cache_mb: int = 256  # megabytes for the search index in memory
    durable: bool = False  # wait for the disk at each append: survives power loss
    log_level: str = _setting("warning", _choice(LEVELS))
    max_message_bytes: int = 4 * 1024 * 1024
    max_append_messages: int = 100_000
    max_body_bytes: int = 32 * 1024 * 1024  # of a request to the service
    service_hosts: str | None = None  # host names the service answers to, separated by commas
    service_origins: str | None = _setting(None, _origins)  # of other pages that may call the service
    proxy_base_url: str | None = _setting(None, _address)  # endpoint of the proxy; unset: the llm's
    proxy_api_key: str | None = _secret()  # unset: the llm's or the caller's
    proxy_memory_tokens: int = 4_000  # that the proxy adds to a request, at most
    proxy_place: str = _setting("system", _choice(("system", "user")))  # the message that memory is added to
    proxy_seconds: float = 600.0  # that the proxy waits for its endpoint
    proxy_at_v1: bool = False  # offer the proxy at /v1, too
    proxy_default_user: str | None = _setting(None, _user_or_off)  # of requests that name nobody; unset: `user`
    max_requests_per_minute: int | None = None  # of a key, or of an address without one; unset: any number
    max_concurrent_requests: int = 1000
    max_concurrent_requests_per_key: int = 500
    max_listeners_per_key: int = 50  # for events
    max_held_bytes: int = 256 * 1024 * 1024  # memory for the bodies of current requests
    header_seconds: float = 15.0  # for the head of a request to arrive
    request_seconds: float = 60.0  # for the body of a request to arrive
    model_seconds: float = 900.0  # that a fold or a reading waits for its model, with all corrections
    lease_seconds: float = 60.0  # that a silent worker keeps a session
    mcp_token: str | None = _secret()  # that clients of `lamina mcp --http` must send
    llm_base_url: str | None = None  # OpenAI-compatible endpoint; unset: OpenAI's
    llm_model: str | None = None  # unset with the address: no llm
    llm_api_key: str | None = _secret()
    llm_use: str = _setting(",".join(USES), _choices(USES))
    llm_with_offline: bool = True  # keep, too, the facts and episodes that only the offline models find
    llm_thinking_tokens: int = _setting(0, _COUNT)  # room for a model that thinks before it writes
    llm_seconds: float = 600.0  # for one answer with all its retries
    llm_retries: int = _setting(3, _COUNT)  # of a call whose failure may be temporary
    llm_concurrency: int = 4
    llm_requests_per_minute: int | None = None
    llm_tokens_per_minute: int | None = None
    llm_price_input: float | None = _setting(None, _PRICE)  # of a million tokens read
    llm_price_output: float | None = _setting(None, _PRICE)  # of a million tokens written
    llm_budget_per_day: float | None = None  # then offline
    llm_budget_per_month: float | None = None  # then offline

    def limits(self) -> Limits:
        return Limits(message_bytes=self.max_message_bytes, append_messages=self.max_append_messages)

    def patience(self) -> Patience:
        return Patience(model_seconds=self.model_seconds, lease_seconds=self.lease_seconds)

    def has_proxy(self) -> bool:
        """Whether an endpoint for the proxy is configured."""
        return self.proxy_base_url is not None or self.llm() is not None

    def proxy_endpoint(self) -> str:
        """Where the proxy asks, without a slash at the end."""
        return (self.proxy_base_url or self.llm_base_url or OPENAI).rstrip("/")

    def default_user(self) -> str | None:
        """The user of proxied requests that name nobody, while there are no keys; None: nothing is remembered."""
        return None if self.proxy_default_user == OFF else self.proxy_default_user or self.user or DEFAULT_USER

    def proxy_model(self) -> str | None:
        """The model of the proxy's endpoint, if that is the llm's."""
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
            with_offline=self.llm_with_offline,
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
        """The embedder: a name, or an endpoint; at the address of the llm, the key of the llm is used."""
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
        """Arguments to open a memory, without its tenant."""
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

    def public(self) -> dict[str, Any]:
        """All settings, with secrets replaced by stars."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        secrets = {entry.name for entry in fields(self) if entry.metadata.get("secret")}
        return {name: "***" if name in secrets and value is not None else value for name, value in values.items()}


NAMES = tuple(entry.name for entry in fields(Settings))
_READERS: Mapping[str, Callable[[Any], Any]] = {
    entry.name: entry.metadata.get("read") or _BY_TYPE[(get_args(entry.type) or (entry.type,))[0]]
    for entry in fields(Settings)
}


def load_settings(environ: Mapping[str, str], toml_path: Path | None = None) -> Settings:
    """Settings from the environment and a TOML file; raises ConfigError with every problem there is."""
    problems: list[str] = []
    values: dict[str, Any] = {}
    knobs: dict[str, Any] = {}
    file = toml_path or _default_file(environ)
    for name, value in _from_toml(file, problems).items():
        if name == "profile_values" and isinstance(value, dict):
            knobs.update({knob: _toml_knob(knob, given) for knob, given in value.items()})
        elif name in NAMES:
            _read(values, name, value, f"{file}: {name}", problems)
        else:
            problems.append(f"{file}: {_unknown(name, (*NAMES, 'profile_values'))}")
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


def _default_file(environ: Mapping[str, str]) -> Path | None:
    if path := environ.get("LAMINA_CONFIG"):
        return Path(path)
    here = Path("lamina.toml")
    return here if here.is_file() else None


def _from_toml(path: Path | None, problems: list[str]) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(read_text_file(path))
    except tomllib.TOMLDecodeError as error:
        problems.append(f'{path} is not TOML: {error}; a line is such as: user = "mara"')
    except InputError as error:
        problems.append(str(error))
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
                _read(values, name, text, variable, problems)
            else:
                problems.append(_unknown(variable, [f"LAMINA_{known.upper()}" for known in (*NAMES, "config")]))


def _unknown(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"{name} is no setting" + (f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}")


def _toml_knob(name: str, value: Any) -> Any:
    """A value of a profile from TOML: lists become tuples, and the text `none` means None."""
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


def _read(values: dict[str, Any], name: str, given: Any, where: str, problems: list[str]) -> None:
    try:
        values[name] = _READERS[name](given)
    except (ValueError, TypeError) as error:
        problems.append(f"{where}: {error}")


def _profile(profile: Profile | None, knobs: Mapping[str, Any], problems: list[str]) -> Profile | None:
    """The profile with changed values; the variables of `chunked` without a profile mean that profile."""
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
