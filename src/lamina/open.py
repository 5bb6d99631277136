"""The only place that names backends: opens a store, and builds the models and other parts of a memory."""

import importlib
import logging
import os
import re
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import uuid_utils

from lamina.errors import InputError
from lamina.log.messages import check_tenant
from lamina.models.llm.costs import StoreLedger
from lamina.models.llm.llm_options import OPENAI, USES, Llm, Price
from lamina.parts import Parts, Patience, Progress, beside_loop
from lamina.profiles import DEFAULT, Profile, as_profile, profile_kept
from lamina.protocols.models import Embedder, EpisodeExtractor, Extractor, Summariser, TokenCounter
from lamina.protocols.store import Store
from lamina.values.message import Limits
from lamina.values.report import Copied, FoldDone

__all__ = ["EMBEDDERS", "OPENAI", "USES", "Llm", "Options", "Price", "grants", "new_id", "worker_alive"]

logger = logging.getLogger("lamina.memory")

_URLS = "sqlite:///path or postgresql://user@host/database"

_MINILM = "lamina.models.embeddings.minilm"
EMBEDDERS = ("auto", "static", "minilm", "none")


def shown_place(location: object) -> str:
    """A location without a password or parameters."""
    return re.sub(r"(?<=://)([^:/@]*):.*@", r"\1:***@", str(location).partition("?")[0])


def has_own_backups(location: object) -> bool:
    """Whether a location is a database that has its own tool for backups."""
    return isinstance(location, str) and location.startswith(("postgresql://", "postgres://"))


def how_to_dump(location: object, target: str | Path) -> str:
    """How a database is backed up that has its own tool for it."""
    place = shown_place(location).replace(":***@", "@")
    return (
        f"PostgreSQL makes its own backups: pg_dump --format=custom --file={target} '{place}', as a role that"
        " may bypass row-level security; pg_restore brings it back"
    )


def current_time() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What may be chosen when a memory is opened; everything has a default."""

    profile: str | Profile | None = None  # None: the one the file was last opened with, else `default`
    tenant: str = "default"
    llm: Llm | None = None  # writes summaries, finds facts and episodes, as its `use` says; None: all offline
    summariser: Summariser | None = None  # None: that of the llm, or offline
    extractor: Extractor | None = None  # None: that of the llm, or offline
    episode_extractor: EpisodeExtractor | None = None  # finds episodes; None: that of the llm, or offline
    embedder: Embedder | Llm | str = "auto"  # or "static", "minilm", an endpoint, one of your own; "none": words alone
    minilm_path: str | Path | None = None  # folder or file of MiniLM's weights; None: the installed package has them
    counter: TokenCounter | None = None  # None: exact
    worker: bool = True  # fold in the background of this process
    durable: bool = False  # wait for the disk at each append: survives power loss too
    cache_mb: int = 256  # memory for what is kept at hand to search
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    now: Callable[[], datetime] = current_time
    on_fold: Callable[[FoldDone], None] | None = None  # is told of each fold that was made in this process

    def __post_init__(self) -> None:
        check_tenant(self.tenant)
        for name, verb, protocol in (
            ("summariser", "summarise", Summariser),
            ("extractor", "extract", Extractor),
            ("episode_extractor", "extract_episodes", EpisodeExtractor),
            ("counter", "count", TokenCounter),
        ):
            model = getattr(self, name)
            if model is not None and not callable(getattr(model, verb, None)):
                kind = type(model).__name__
                raise InputError(f"{name} must have the verb `{verb}` (see lamina.{protocol.__name__}), {kind} has not")
        if self.llm is not None and not isinstance(self.llm, Llm):
            raise InputError(f"llm must be an Llm, e.g. Llm(base_url=..., model=...), not {type(self.llm).__name__}")
        _check_recall(self)
        if not callable(self.now):
            raise InputError("now must be a function that gives the time, with its zone")


@dataclass(slots=True)
class OpenStore:
    """A store that is open, and the models that its engines were given."""

    store: Store
    embedder: Embedder | None
    chosen: Options
    models: list[Any]

    async def parts(self, own: Store, profile: str | Profile | None, *, unfinished: bool = False) -> Parts:
        """What the engine of one tenant is built from; of an unfinished copy only for the copy itself."""
        if not unfinished:
            await _backend("lamina.maintenance.copy", "refuse_unfinished")(own)
        await _warn_if_missing(own, self.chosen, self.embedder)
        parts = await _parts(own, self.embedder, replace(self.chosen, tenant=own.tenant, profile=profile))
        self.models += [parts.summariser, parts.extractor, parts.episode_extractor]
        return parts


@asynccontextmanager
async def open_store(location: str | Path, chosen: Options) -> AsyncIterator[OpenStore]:
    """A store, closed in the end with the connections of all models that were made for it."""
    await _import_beside_loop()
    embedder = _embedder(chosen)  # may be refused, before a file is made
    if chosen.llm is not None:
        _backend("lamina.models.llm.endpoint", "require_sdk")()
    opened = OpenStore(_store(location, chosen), embedder, chosen, [embedder])
    if isinstance(chosen.embedder, Llm):
        _keep_costs(embedder, chosen.embedder, opened.store)
    try:
        await opened.store.open()
        await _know_dimensions(opened.store, embedder)
        yield opened
    finally:
        for model in opened.models:
            if hasattr(model, "endpoint"):
                await model.endpoint.close()
        await opened.store.close()


# What most memories are opened with. Together they take as long to import as Lamina itself, numpy above all.
_MODULES = (
    "lamina.storage.sqlite.sqlite_store",
    "lamina.maintenance.copy",
    "lamina.models.token_counters",
    "lamina.models.embeddings.static",
    "lamina.models.offline.summarisation.extractive_summariser",
    "lamina.models.offline.offline_extractor",
    "lamina.models.offline.episode_extraction.episode_extractor",
    "lamina.models.offline.fact_extraction.statement_reader",
    "lamina.models.llm.prompts",
)


async def _import_beside_loop() -> None:
    """Import what a memory is opened with in another thread, if an event loop is to be kept free."""
    if any(module not in sys.modules for module in _MODULES):
        await beside_loop(_import_modules)


def _import_modules() -> None:
    for module in _MODULES:
        importlib.import_module(module)
    _backend("lamina.models.token_counters", "best_counter")()  # imports tiktoken


def _check_recall(options: Options) -> None:
    embedder = options.embedder
    if isinstance(embedder, str):
        if embedder not in EMBEDDERS:
            raise InputError(f"no embedder {embedder!r}; there are {list(EMBEDDERS)}, or give one of your own")
    elif not isinstance(embedder, Llm) and not callable(getattr(embedder, "embed", None)):
        raise InputError(
            f"embedder must have the verb `embed` (see lamina.Embedder), {type(embedder).__name__} has not"
        )
    if options.minilm_path is not None and not isinstance(options.minilm_path, str | Path):
        raise InputError(f"minilm_path must be a path, not {options.minilm_path!r}")
    if isinstance(options.cache_mb, bool) or not isinstance(options.cache_mb, int) or options.cache_mb < 1:
        raise InputError(f"cache_mb must be a whole number of megabytes above 0, not {options.cache_mb!r}")


def _embedder(chosen: Options) -> Embedder | None:
    if isinstance(chosen.embedder, Llm):
        remote: Embedder = _backend("lamina.models.llm.http_embedder", "HttpEmbedder")(
            _endpoint(chosen.embedder, chosen)
        )
        return remote
    if not isinstance(chosen.embedder, str):
        return chosen.embedder
    if chosen.embedder == "none":
        return None
    return _minilm(chosen) or _static()


def _static() -> Any:
    return _backend("lamina.models.embeddings.static", "StaticEmbedder")()


def _minilm(chosen: Options) -> Embedder | None:
    """MiniLM, if it was chosen, or if nothing was and its package is installed."""
    if chosen.embedder == "static" or (chosen.embedder == "auto" and _backend(_MINILM, "installed")() is None):
        return None
    path = chosen.minilm_path if chosen.embedder == "minilm" else None
    embedder: Embedder = _backend(_MINILM, "MiniLmEmbedder")(path)
    return embedder


def _interim(chosen: Options, embedder: Embedder | None, static: Embedder) -> Embedder | None:
    """What embeds first: MiniLM, which is chosen by name, takes its time."""
    slow = isinstance(chosen.embedder, str) and embedder is not None and embedder.name != static.name
    return static if slow else None


async def _warn_if_missing(store: Store, chosen: Options, embedder: Embedder | None) -> None:
    """Say so if a memory is searched by MiniLM where its package is, and nobody chose to do without it."""
    if chosen.embedder != "auto" or embedder is None:
        return
    noted = await store.setting("embedder")
    if noted == _backend(_MINILM, "SMALL").name != embedder.name:
        logger.info("embedder_not_installed", extra={"embedder": noted, "instead": embedder.name})


def _endpoint(llm: Llm, chosen: Options) -> Any:
    make = _backend("lamina.models.llm.endpoint", "Endpoint")
    return make(llm, tenant=chosen.tenant, counter=chosen.counter, now=chosen.now)


async def _know_dimensions(store: Store, embedder: Embedder | None) -> None:
    """Have an embedder that must ask for the size of its vectors asked once for each store."""
    if embedder is None or embedder.dimensions or not hasattr(embedder, "ask_dimensions"):
        return
    name = f"dimensions of {embedder.name}"
    known = await store.setting(name)
    if known is None:
        await store.put_setting(name, str(await embedder.ask_dimensions()))
    else:
        embedder.dimensions = int(known)


def _keep_costs(model: Any, llm: Llm, store: Store) -> None:
    """Have a model's calls counted in the store, unless its ledger was chosen."""
    if llm.ledger is None:
        model.endpoint.ledger = StoreLedger(store)


def _remote(store: Store, chosen: Options, profile: Profile) -> dict[str, Any]:
    """The models of the llm that are wanted, by the name of their option."""
    if chosen.llm is None:
        return {}
    llm = replace(chosen.llm, model=chosen.llm.model or profile.summarizer_model)
    endpoint = _endpoint(llm, chosen)
    kinds = {
        "summariser": ("summaries", "lamina.models.llm.llm_summariser", "LlmSummariser"),
        "extractor": ("facts", "lamina.models.llm.llm_fact_extractor", "LlmFactExtractor"),
        "episode_extractor": ("episodes", "lamina.models.llm.llm_episode_extractor", "LlmEpisodeExtractor"),
    }
    models = {name: _backend(module, kind)(endpoint) for name, (use, module, kind) in kinds.items() if use in llm.use}
    for model in models.values():
        _keep_costs(model, llm, store)
    return models


async def _parts(store: Store, embedder: Embedder | None, chosen: Options) -> Parts:
    counter = chosen.counter or _backend("lamina.models.token_counters", "best_counter")()
    static = _static()
    offline = _backend("lamina.models.offline.summarisation.extractive_summariser", "OfflineSummariser")(counter)
    extractor = _backend("lamina.models.offline.offline_extractor", "OfflineExtractor")()
    episode_extractor = _backend(
        "lamina.models.offline.episode_extraction.episode_extractor", "OfflineEpisodeExtractor"
    )()
    profile = await _profile(store, chosen.profile)
    remote = _remote(store, chosen, profile)
    return Parts(
        store=store,
        counter=counter,
        summariser=chosen.summariser or remote.get("summariser") or offline,
        offline=offline,
        extractor=chosen.extractor or remote.get("extractor") or extractor,
        episode_extractor=chosen.episode_extractor or remote.get("episode_extractor") or episode_extractor,
        offline_extractor=extractor,
        offline_episode_extractor=episode_extractor,
        statement_reader=_backend("lamina.models.offline.fact_extraction.statement_reader", "OfflineStatementReader")(),
        embedder=embedder,
        lexicon=static,
        static=static,
        interim=_interim(chosen, embedder, static),
        prompts=_backend("lamina.models.llm.prompts", "summary_prompts")(),
        profile=profile,
        on_fold=chosen.on_fold,
        now=chosen.now,
        new_id=new_id,
        random_bytes=os.urandom,
        owner=_owner(),
        alive=worker_alive,
        limits=chosen.limits,
        patience=chosen.patience,
        cache_bytes=chosen.cache_mb * 2**20,
    )


def _backend(module: str, name: str) -> Any:
    """A store or model by name, imported when a memory is opened: `import lamina` stays quick."""
    return getattr(importlib.import_module(module), name)


async def _profile(store: Store, chosen: str | Profile | None) -> Profile:
    if chosen is not None:
        return as_profile(chosen)
    known = await store.setting("profile")
    return DEFAULT if known is None else profile_kept(known)


def _store(location: str | Path, chosen: Options) -> Store:
    if not isinstance(location, str | Path) or not str(location):
        raise InputError(f"location must be a path, ':memory:' or a URL ({_URLS}), not {location!r}")
    if has_own_backups(location):
        postgres: Store = _postgres()(location, tenant=chosen.tenant)
        return postgres
    path = location if isinstance(location, Path) or "://" not in location else _path(location)
    opener = _backend("lamina.storage.sqlite.sqlite_store", "SqliteStore")
    sqlite: Store = opener(path, tenant=chosen.tenant, durable=chosen.durable)
    return sqlite


def _postgres() -> Any:
    """The store, if its driver is installed."""
    try:
        return _backend("lamina.storage.postgres.postgres_store", "PostgresStore")
    except ModuleNotFoundError as error:
        if error.name not in {"psycopg", "psycopg_pool"}:
            raise
        raise InputError("PostgreSQL needs a driver; get it with: pip install 'lamina[postgres]'") from error


def grants(location: str, role: str) -> str:
    """The SQL that lets a role use the tables of a PostgreSQL store that it does not own."""
    store = _store(location, Options())
    if not hasattr(store, "grants"):
        raise InputError(f"{location} needs no grants; give the URL of a PostgreSQL store ({_URLS})")
    sql: str = store.grants(role)
    return sql


async def copy_store(source: Store, target: Store, rounds: int, progress: Progress | None) -> Copied:
    """Copy every row of a store to another."""
    copy = _backend("lamina.maintenance.copy", "Copy")(source.for_tenant(source.tenant, maintenance=True), target)
    copied: Copied = await copy.run(new_id("mem"), rounds, progress)
    return copied


def _path(url: str) -> str:
    """The path in a sqlite:/// URL."""
    parts = urlsplit(url)
    if parts.scheme != "sqlite":
        raise InputError(f"no store for {parts.scheme}://; give a path, ':memory:' or a URL ({_URLS})")
    path = unquote(parts.path)[1:]
    if not path:
        raise InputError(f"{url!r} names no file; e.g. sqlite:///chat.db or sqlite:////absolute/chat.db")
    return path


def new_id(prefix: str) -> str:
    """A unique id that sorts by the time it was made."""
    return f"{prefix}_{uuid_utils.uuid7().hex}"


def _owner() -> str:
    return f"{socket.gethostname()}/{os.getpid()}/{os.urandom(4).hex()}"


def worker_alive(owner: str) -> bool:
    """Whether the process that took a lease may still be at work; of other machines we cannot know."""
    host, _, rest = owner.partition("/")
    pid = rest.partition("/")[0]
    if host != socket.gethostname() or not pid.isdigit():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
