"""A `BaseStore` of LangGraph whose items are kept, found and forgotten by Lamina."""

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from lamina import InputError, Memory, MissingExtra
from lamina.interfaces.adapters.shelf import ROLE, Document, Shelf
from lamina.types import Hit

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        get_text_at_path,
        tokenize_path,
    )
except ImportError as error:
    raise MissingExtra("langgraph-checkpoint", "langgraph") from error

Namespace = tuple[str, ...]
_KEY = "|"  # between the namespace and the key of a name
_END = "/"  # behind each label of a namespace
_ESCAPED = str.maketrans({"%": "%25", _END: "%2F", _KEY: "%7C"})
_MOST_HITS = 4096
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class LaminaStore(BaseStore):
    """Items under namespaces, as LangGraph's own stores keep them, with Lamina's recall to search them.

    `user_id` says whose they are: one user for all, or a function of the namespace, so that forgetting a user takes
    their items along.
    """

    def __init__(self, memory: Memory, *, user_id: str | Callable[[Namespace], str] = "langgraph") -> None:
        self._memory = memory
        self._shelf = Shelf(memory, "langgraph")
        self._user_id = user_id

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer what is asked, then store what is put; of several puts to one key the last counts."""
        given = list(ops)
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        texts = [_checked(op) for op in puts.values()]
        results = [self._answer(op) for op in given]
        for op, text in zip(puts.values(), texts, strict=True):
            self._put(op, text)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _answer(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self._shelf.get(_name(op.namespace, op.key))
                return None if found is None else Item(**_item(found))
            case SearchOp(query=query):
                return self._ranked(op, query) if query else self._listed(op)
            case ListNamespacesOp():
                return self._namespaces(op)
            case PutOp():
                return None
        raise InputError(f"no operation {type(op).__name__}; there are GetOp, SearchOp, PutOp and ListNamespacesOp")

    def _put(self, op: PutOp, text: str) -> None:
        name = _name(op.namespace, op.key)
        if op.value is None:
            self._shelf.drop(name)
            return
        user_id = self._user_id if isinstance(self._user_id, str) else self._user_id(op.namespace)
        self._shelf.put(name, text, dict(op.value), user_id=user_id)

    # searching

    def _listed(self, op: SearchOp) -> list[SearchItem]:
        found = (document for document in self._shelf.under(_labels(op.namespace_prefix)) if _fits(document, op))
        return [SearchItem(**_item(document)) for document in islice(found, op.offset, op.offset + op.limit)]

    def _ranked(self, op: SearchOp, query: str) -> list[SearchItem]:
        users = self._shelf.users(_labels(op.namespace_prefix)) if callable(self._user_id) else {self._user_id}
        wanted = op.offset + op.limit
        if wanted <= 0 or not users:
            return []
        scored = [pair for user_id in sorted(users) for pair in self._found(op, query, user_id, wanted)]
        scored.sort(key=lambda pair: -pair[0])
        return [SearchItem(**_item(document), score=score) for score, document in scored[op.offset : wanted]]

    def _found(self, op: SearchOp, query: str, user_id: str, wanted: int) -> list[tuple[float, Document]]:
        """The best items of a user, looked for more widely until there are enough."""
        most = max(32, 2 * wanted)
        while True:
            hits = self._memory.search(query, user_id=user_id, top_k=most, kinds=["message"], role=ROLE)
            found = list(islice(self._current(op, hits), wanted))
            if len(found) == wanted or len(hits) < most or most >= _MOST_HITS:
                return found
            most *= 4

    def _current(self, op: SearchOp, hits: Sequence[Hit]) -> Iterator[tuple[float, Document]]:
        """Hits that are the newest version of an item that is asked for."""
        for hit in hits:
            name = self._shelf.name_of(hit.session_id)
            if name is not None and name.startswith(_labels(op.namespace_prefix)):
                document = self._shelf.get(name)
                if document is not None and document.message_id in hit.message_ids and _fits(document, op):
                    yield hit.score, document

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        found = {_parted(document.name)[0] for document in self._shelf.under("")}
        kept = {namespace for namespace in found if all(_matches(one, namespace) for one in conditions)}
        return sorted({namespace[: op.max_depth] for namespace in kept})[op.offset : op.offset + op.limit]


# names


def _labels(namespace: Namespace) -> str:
    return "".join(label.translate(_ESCAPED) + _END for label in namespace)


def _name(namespace: Namespace, key: str) -> str:
    return f"{_labels(namespace)}{_KEY}{key}"


def _parted(name: str) -> tuple[Namespace, str]:
    labels, _, key = name.partition(_KEY)
    plain = (label.replace("%2F", _END).replace("%7C", _KEY).replace("%25", "%") for label in labels.split(_END)[:-1])
    return tuple(plain), key


def _item(document: Document) -> dict[str, Any]:
    namespace, key = _parted(document.name)
    return {
        "namespace": namespace,
        "key": key,
        "value": document.value,
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


# what an item says


def _checked(op: PutOp) -> str:
    """The words that an item is to be found by, if it can be stored."""
    if op.ttl is not None:
        raise InputError("items do not expire here (ttl); delete them, or use the retention rules of the profile")
    if op.value is None or op.index is False:
        return ""
    if op.index is None:
        return "\n".join(_lines(op.value, ""))
    return "\n".join(text for path in op.index for text in get_text_at_path(op.value, tokenize_path(path)))


def _lines(value: Any, name: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(inner, f"{name} {key}".strip())
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _lines(inner, name)
    elif value is not None:
        yield f"{name}: {value}"


# filters


def _fits(document: Document, op: SearchOp) -> bool:
    return all(_equals(document.value.get(key), wanted) for key, wanted in (op.filter or {}).items())


def _equals(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter wants it: the same, the same in parts, or in the order that operators say."""
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
    if name not in _ORDER:
        raise InputError(f"no operator {name!r}; there are $eq, $ne, $gt, $gte, $lt and $lte")
    try:
        return _ORDER[name](float(value), float(than))
    except (TypeError, ValueError):
        return False
