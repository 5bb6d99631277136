"""A `BaseStore` of LangGraph whose items Lamina stores, searches and forgets."""

import asyncio
import json
import logging
import operator
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from lamina import InputError, LaminaError, Memory, MissingExtra, StoreError
from lamina.values.document import Document, DocumentPut

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as error:
    raise MissingExtra("langgraph-checkpoint", "langgraph") from error

logger = logging.getLogger("lamina.langgraph")

Namespace = tuple[str, ...]
_TITLE = "langgraph"
_ROOT = f"{_TITLE}:"  # before the namespace of a name
_KEY = "|"  # between the namespace and the key of a name
_END = "/"  # behind each label of a namespace
_ESCAPED = str.maketrans({"%": "%25", _END: "%2F", _KEY: "%7C"})
_MAX_PIECE = 200  # characters of a filter's text that a database looks for
_SWEEP_MINUTES = 5.0
_MAX_MINUTES = 60.0 * 24 * 366 * 1000
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_TTL_KEYS = frozenset(TTLConfig.__annotations__)


class LaminaStore(BaseStore):
    """Items under namespaces, as LangGraph's own stores keep them, searched by meaning with the memory's embedder.

    `user_id` says whose they are: one user for all, or a function of the namespace, so that forgetting a user takes
    their items along. `index={"fields": [...]}` says which fields are searched where a put does not. `ttl` is
    LangGraph's `TTLConfig`. With `versions`, what an item was before stays in its session, where no search finds it.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | Callable[[Namespace], str] = "langgraph",
        index: Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        versions: bool = False,
    ) -> None:
        self._documents = memory.documents
        self._user_id = user_id
        self._fields = _fields(index)
        self.ttl_config = _check_ttl(ttl)
        self._versions = versions
        self._sweeper: threading.Thread | None = None
        self._stop = threading.Event()
        if (self.ttl_config or {}).get("sweep_interval_minutes"):
            self.start_ttl_sweeper()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer what is asked, then store what is put; of several puts to one key the last counts."""
        given = list(ops)
        for op in given:
            _check(op)
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        made = [self._put(op) for op in puts.values() if op.value is not None]
        results = self._answers(given)
        self._documents.put(made)
        gone = [_name(op.namespace, op.key) for op in puts.values() if op.value is None]
        if gone:
            self._documents.drop(gone)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _put(self, op: PutOp) -> DocumentPut:
        if not isinstance(op.value, Mapping):
            raise InputError(f"a value must be a dict, not {type(op.value).__name__}; None deletes the item")
        if op.ttl is not None and not _is_span(op.ttl):
            raise InputError(f"ttl must be a number of minutes above 0, or None, not {op.ttl!r}")
        return DocumentPut(
            name=_name(op.namespace, op.key),
            user_id=self._user_id if isinstance(self._user_id, str) else self._user_id(op.namespace),
            value=dict(op.value),
            texts=tuple(text for text in _texts(op, self._fields) if text),
            agent_id=_TITLE,
            ttl=None if op.ttl is None else timedelta(minutes=op.ttl),
            versions=self._versions,
        )

    def _answers(self, ops: Sequence[Op]) -> list[Result]:
        wanted = [op for op in ops if isinstance(op, GetOp)]
        got = iter(self._documents.get([_name(op.namespace, op.key) for op in wanted]))
        renewed: list[Document] = []
        results = [self._answer(op, next(got) if isinstance(op, GetOp) else None, renewed) for op in ops]
        self._documents.renew(renewed)
        return results

    def _answer(self, op: Op, got: Document | None, renewed: list[Document]) -> Result:
        """The answer to an operation; collects the documents whose time to live starts again."""
        match op:
            case GetOp():
                renewed += [got] if got is not None and op.refresh_ttl else []
                return None if got is None else Item(**_item(got))
            case SearchOp():
                found = self._search(op)
                renewed += [document for _, document in found] if op.refresh_ttl else []
                return [SearchItem(**_item(document), score=score) for score, document in found]
            case ListNamespacesOp():
                return self._namespaces(op)
        return None

    def _search(self, op: SearchOp) -> Sequence[tuple[float | None, Document]]:
        if op.limit <= 0 or op.offset < 0:
            return []
        prefix, wanted = _ROOT + _labels(op.namespace_prefix), op.filter or {}
        chosen: dict[str, Any] = {"has": [*_pieces(wanted)]}
        if wanted:
            chosen["fits"] = lambda value: _fits(value, wanted)
        if op.query:
            ranked = self._documents.nearest(prefix, op.query, **chosen)
            return ranked[op.offset : op.offset + op.limit]
        listed = self._documents.under(prefix, offset=op.offset, limit=op.limit, **chosen)
        return [(None, document) for document in listed]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        folders = self._documents.folders(_ROOT + _labels(_common(conditions)), _KEY)
        found = [_split_name(folder)[0] for folder in folders]
        kept = [namespace for namespace in found if all(_matches(one, namespace) for one in conditions)]
        return sorted({namespace[: op.max_depth] for namespace in kept})[op.offset : op.offset + op.limit]

    # time to live

    def sweep_ttl(self) -> int:
        """Forget expired items; returns how many. No read returns them before that, either."""
        return self._documents.sweep(_ROOT)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep repeatedly in a thread, until `stop_ttl_sweeper` or the memory is closed.

        With `sweep_interval_minutes` in the `TTLConfig` it starts automatically.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or _SWEEP_MINUTES
        if not _is_span(minutes):
            raise InputError(f"sweep_interval_minutes must be a number above 0, not {minutes!r}")
        if self._sweeper is None or not self._sweeper.is_alive():
            self._stop.clear()
            given = (weakref.ref(self), self._stop, minutes * 60)
            self._sweeper = threading.Thread(target=_sweep_on, args=given, name="lamina-ttl", daemon=True)
            self._sweeper.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread; False if it still runs after `timeout` seconds."""
        self._stop.set()
        if self._sweeper is not None:
            self._sweeper.join(timeout)
        return self._sweeper is None or not self._sweeper.is_alive()


def _sweep_on(reference: "weakref.ref[LaminaStore]", stop: threading.Event, seconds: float) -> None:
    """Sweep as long as the store exists and its memory is open."""
    while not stop.wait(seconds):
        store = reference()
        if store is None:
            return
        try:
            store.sweep_ttl()
        except StoreError as error:
            logger.warning("not_swept", extra={"reason": str(error)})
        except LaminaError:  # the memory is closed
            return
        del store


# names


def _labels(namespace: Namespace) -> str:
    return "".join(label.translate(_ESCAPED) + _END for label in namespace)


def _name(namespace: Namespace, key: str) -> str:
    return f"{_ROOT}{_labels(namespace)}{_KEY}{key}"


def _split_name(name: str) -> tuple[Namespace, str]:
    labels, _, key = name.removeprefix(_ROOT).partition(_KEY)
    plain = (label.replace("%2F", _END).replace("%7C", _KEY).replace("%25", "%") for label in labels.split(_END)[:-1])
    return tuple(plain), key


def _item(document: Document) -> dict[str, Any]:
    namespace, key = _split_name(document.name)
    return {
        "namespace": namespace,
        "key": key,
        "value": document.value,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


def _check(op: Any) -> None:
    """Refuse wrong operations before any of a batch is done; labels are checked as in LangGraph's own stores."""
    match op:
        case GetOp() | PutOp():
            if not op.namespace:
                raise InvalidNamespaceError("a namespace must have at least one label, e.g. ('memories', 'ana')")
            _check_text(op.key, "a key")
            _check_labels(op.namespace)
        case SearchOp():
            _check_labels(op.namespace_prefix)
            _check_operators(op.filter or {})
        case ListNamespacesOp():
            for condition in op.match_conditions or ():
                if condition.match_type not in ("prefix", "suffix"):
                    raise InputError(f"no match_type {condition.match_type!r}; there are 'prefix' and 'suffix'")
                _check_labels(condition.path)
        case _:
            there = "GetOp, SearchOp, PutOp and ListNamespacesOp"
            raise InputError(f"no operation {type(op).__name__}; there are {there}")


def _check_labels(labels: Iterable[Any]) -> None:
    for label in labels:
        if not isinstance(label, str) or not label or "." in label:
            raise InvalidNamespaceError(f"a label must be text without dots, and not empty, not {label!r}")
        _check_text(label, "a label")


def _check_text(text: Any, what: str) -> None:
    if not isinstance(text, str) or "\0" in text or not _is_unicode(text):
        raise InputError(f"{what} must be text without NUL characters and lone surrogates, not {text!r:.80}")


def _is_unicode(text: str) -> bool:
    return text.encode(errors="replace").decode() == text


def _common(conditions: Iterable[MatchCondition]) -> Namespace:
    """The labels that every matching namespace begins with."""
    found: Namespace = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            plain = path[: path.index("*")] if "*" in path else path
            found = max(found, plain, key=len)
    return found


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


# what an item says


def _fields(index: Mapping[str, Any] | None) -> list[str] | None:
    """The fields that are searched unless a put says others; None for all of an item."""
    given = dict(index or {})
    fields = given.pop("fields", None)
    if given:
        raise InputError(
            f"index takes only `fields` here, not {sorted(given)}: items are searched with the memory's own embedder,"
            " which is chosen by Memory(..., embedder=...)"
        )
    if fields is not None and (isinstance(fields, str) or not all(isinstance(field, str) for field in fields)):
        raise InputError(f"the fields of an index must be a list of paths such as 'text' or 'tags[*]', not {fields!r}")
    return None if fields is None else [*fields]


def _texts(op: PutOp, fields: list[str] | None) -> Sequence[str]:
    """The texts that an item is to be found by."""
    if op.index is False:
        return []
    paths = fields if op.index is None else op.index
    if paths is None:
        return ["\n".join(_lines(op.value, ""))]
    return [text for path in paths for text in get_text_at_path(op.value, tokenize_path(path))]


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, f"{name} {key}".strip())
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _lines(inner, name)
    elif value is not None:
        yield f"{name}: {value}"


# time to live


def _check_ttl(given: TTLConfig | None) -> TTLConfig | None:
    unknown = sorted(set(given or ()) - _TTL_KEYS)
    if unknown:
        raise InputError(f"ttl has no {unknown}; there are {sorted(_TTL_KEYS)}")
    for name in ("default_ttl", "sweep_interval_minutes"):
        minutes = (given or {}).get(name)
        if minutes is not None and not _is_span(minutes):
            raise InputError(f"{name} must be a number of minutes above 0, or None, not {minutes!r}")
    return given


def _is_span(minutes: Any) -> bool:
    return isinstance(minutes, int | float) and not isinstance(minutes, bool) and 0 < minutes < _MAX_MINUTES


# filters


def _fits(value: Any, wanted: Mapping[str, Any]) -> bool:
    return all(_equals(_at(value, key), one) for key, one in wanted.items())


def _at(value: Any, key: str) -> Any:
    """What a value has under a key; else under the path that the key is, as in `user.name`."""
    if key in value:
        return value[key]
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _pieces(wanted: Mapping[str, Any]) -> Iterator[str]:
    """Texts that the JSON of a matching value contains, so that the database can skip other rows."""
    for one in wanted.values():
        text = one.get("$eq") if isinstance(one, Mapping) else one
        if isinstance(text, str) and text:
            piece = json.dumps(text, ensure_ascii=False)[1:-1][:_MAX_PIECE]
            if _is_unicode(piece):
                yield piece


def _check_operators(wanted: Mapping[str, Any]) -> None:
    known = {"$eq", "$ne", *_ORDER}
    for one in wanted.values():
        for name in one if isinstance(one, Mapping) else ():
            if str(name).startswith("$") and name not in known:
                raise InputError(f"no operator {name!r}; there are $eq, $ne, $gt, $gte, $lt and $lte")


def _equals(value: Any, wanted: Any) -> bool:
    """Whether a value matches a filter: equal, equal in parts, or by an operator."""
    if isinstance(wanted, Mapping):
        if any(str(key).startswith("$") for key in wanted):
            return all(_holds(value, name, than) for name, than in wanted.items())
        return isinstance(value, Mapping) and all(_equals(value.get(key), one) for key, one in wanted.items())
    if isinstance(wanted, list | tuple):
        same = isinstance(value, list | tuple) and len(value) == len(wanted)
        return same and all(_equals(one, other) for one, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _holds(value: Any, name: str, than: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(value == than) == (name == "$eq")
    try:
        return _ORDER[name](float(value), float(than))
    except (TypeError, ValueError, OverflowError):
        return False
