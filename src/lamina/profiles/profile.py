"""What a profile is: when it folds, what it keeps, how it fills a context."""

import math
from collections.abc import Mapping
from dataclasses import field, fields, replace
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin

from lamina.errors import InputError
from lamina.frozen import dataclass


def _check_min(minimum: int, rule: Any, *names: str) -> None:
    """Refuse values with which a rule would do nothing, or never end."""
    for name in names:
        if getattr(rule, name) < minimum:
            raise InputError(f"{type(rule).__name__}: {name} must be at least {minimum}, not {getattr(rule, name)!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The newest messages, kept word for word."""

    unit: Literal["messages", "turns"]
    size: int
    fill: bool = False  # go further back while the budget allows

    def __post_init__(self) -> None:
        _check_min(1, self, "size")


# When messages are folded. Each schedule is a pure rule over the log: the same log folds the same way however late
# the worker comes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """`medium_term`: at message window+1, then every `step` messages; reads what has just left the window."""

    window: int = 10
    step: int = 10

    def __post_init__(self) -> None:
        _check_min(1, self, "window", "step")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """`project`: past `recent` unfolded messages the oldest `chunk` are folded."""

    recent: int = 20
    chunk: int = 10

    def __post_init__(self) -> None:
        _check_min(1, self, "recent", "chunk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """`assistant`: every `every` complete turns all but the newest `keep` are folded."""

    every: int = 20
    keep: int = 10

    def __post_init__(self) -> None:
        _check_min(1, self, "every")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """`chunked`: when summary and unfolded turns exceed `tokens`, all but the newest `keep` turns are folded."""

    tokens: int = 6_000
    keep: int = 3

    def __post_init__(self) -> None:
        _check_min(1, self, "keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """`layered`: a batch of `least` turns is folded, or of up to `most` while it has fewer than `tokens` tokens."""

    least: int = 8
    most: int = 10
    tokens: int = 400

    def __post_init__(self) -> None:
        _check_min(1, self, "least", "most")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWindow:
    """`default`: when over `tokens` lie before the newest `keep` turns, whole turns are folded up to a topic shift."""

    tokens: int = 1_500
    keep: int = 3
    least: float = 0.5  # share of those tokens that a fold takes at the least

    def __post_init__(self) -> None:
        _check_min(1, self, "keep")


Schedule = Stepped | Overflow | Periodic | Threshold | Batches | PastWindow


# What happens to summaries once there are many.


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """`project`: past `most` chunks the oldest two are joined as `Earlier: … Then: …`."""

    most: int = 25
    cap: int = 600

    def __post_init__(self) -> None:
        _check_min(1, self, "most")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntoLong:
    """`layered`: when medium summaries pass `count` or `tokens`, they are folded into the one long summary."""

    count: int = 4
    tokens: int = 1_200
    cap: int = 800

    def __post_init__(self) -> None:
        _check_min(1, self, "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOut:
    """`default`: when a layer holds `most` summaries, the oldest `width` are folded into the next layer."""

    most: int = 8
    width: int = 4
    cap: int = 400

    def __post_init__(self) -> None:
        _check_min(2, self, "most", "width")


Upkeep = Merge | IntoLong | FanOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of filling a context: take from a section, in its order, within a share of the budget."""

    section: str
    share: float | None = None  # of what is left after the reserves; None: whatever is left
    limit: int | None = None  # at most so many items in all
    cut: bool = False  # the last item may be cut to fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """A prompt that the model's provider keeps (profile `chunked`)."""

    id: str
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything that makes one kind of memory. Change values with `profile.but(...)`."""

    _shown: ClassVar = ("name", "kind", "layout", "budget")

    name: str
    window: Window
    schedule: Schedule
    kind: Literal["rolling", "chunk", "layer", "medium"]
    layout: str
    steps: tuple[Step, ...]
    budget: int
    upkeep: Upkeep | None = None
    close_gaps: bool = False

    cap: int  # tokens of one summary, or of one update of a rolling summary
    total_cap: int | None = None  # tokens a rolling summary may grow to
    least: int = 0  # tokens a summary aims at
    user_share: float = 0.0  # of a summary's words that are the user's at the least, where the user said enough
    sections: tuple[str, ...] = ()  # headings of a structured summary
    first_sections: tuple[str, ...] = ()  # what the prompt for the first one calls them, in this order; (): the same
    title: str | None = None  # first line of a structured summary
    prompts: Mapping[str, str] = field(default_factory=dict)  # task kind -> prompt file
    domains: tuple[str, ...] = ()  # fields of which a summary keeps the facts, as the prompt of `chunked` names them
    summarizer_model: str | None = None
    hosted: Hosted | None = None

    facts: bool = False  # keep what the user said of themselves, word for word
    categories: tuple[str, ...] = ()  # of facts that are kept; (): all
    category_names: Mapping[str, str] = field(default_factory=dict)  # category -> the one under which it is kept
    conflicts: Literal["newest", "confidence", "flag"] = "newest"  # what happens when two values meet
    least_confidence: float = 0.4  # a fact less sure is not kept
    least_importance: float = 0.2  # a fact less important is not kept
    promote_confidence: float = 0.6  # a fact less sure waits as a candidate until it is promoted by hand
    shown_importance: float = 0.5  # a fact less important is not shown unless it is asked for
    episodes: bool = False  # keep the moments that mattered
    max_episodes: int = 100  # of one user; beyond these, the least significant go
    half_life_days: float = 30  # of a memory that is not used
    consolidation_days: float = 30  # memories that came in longer ago than this may be archived
    archive_below: float = 0.3  # importance x decay under which they are
    never_archived: tuple[str, ...] = ()  # categories of facts that are never archived
    consolidate_hours: float | None = 24  # how often consolidation runs by itself; None: only on demand
    keep_message_days: float | None = None  # raw messages older than this are dropped, their summaries stay
    drop_archived_days: float | None = None  # sessions archived longer than this are dropped whole
    short_term_retention_turns: int | None = None  # turns that are shown word for word at the most
    summary_order: Literal["newest", "coverage", "relevance"] = "newest"  # which summaries come first when not all fit
    excerpt: int | None = None  # characters of a summary that the layout shows
    system_prompt_tokens: int = 0  # reserved for the caller's system prompt
    working_memory_tokens: int = 0  # reserved for the current turn
    recalled_kinds: tuple[str, ...] = ("message",)  # what search may bring into a context
    retrieval_top_k: int = 10
    relevance_threshold: float = 0.3  # score under which nothing is recalled
    semantic_weight: float = 0.0  # of the weighted sum; all 0: the calibrated sum ranks
    keyword_weight: float = 0.0
    recency_weight: float = 0.0
    importance_weight: float = 0.0
    access_weight: float = 0.0
    semantic: Literal["vectors", "tfidf"] = "vectors"  # what the weighted sum takes for likeness in meaning
    importance_by_type: bool = False  # extracted facts have the importance of their type, not their own
    episode_distance: float | None = None  # only summaries nearer to the query than this are shown

    digest_sessions: int = 5  # how many earlier sessions a new session is told of; 0: none
    digest_cap: int = 400
    last_session_messages: int = 0  # newest messages that others are told of the last session, if no digest has it yet
    archive_days: float | None = None  # ended sessions are archived after so many days
    idle_hours: float | None = None  # an untouched session ends by itself after so many hours

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weights of the weighted sum, summing to 1; None: the calibrated sum ranks."""
        named = {
            "semantic": self.semantic_weight,
            "keyword": self.keyword_weight,
            "recency": self.recency_weight,
            "importance": self.importance_weight,
            "access": self.access_weight,
        }
        total = sum(named.values())
        return {name: weight / total for name, weight in named.items()} if total > 0 else None

    def but(self, **changes: Any) -> "Profile":
        """The same profile with other values; nested values by their plain names, e.g. `but(chunk_size=8)`."""
        profile = self
        for key, value in changes.items():
            profile = _change(profile, key, value)
        return profile


# The names that the documents give to their knobs, and the values each of them sets.
KNOBS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "max_context_tokens": (("budget",),),
    "chunk_size": (("schedule", "chunk"),),
    "max_recent_messages": (("schedule", "recent"), ("window", "size")),
    "max_chunks": (("upkeep", "most"),),
    "k_raw_turns": (("schedule", "keep"), ("window", "size")),
    "summary_token_cap": (("cap",), ("total_cap",)),
    "prompt_token_budget": (("budget",),),
    "chunk_summarize_threshold": (("schedule", "tokens"),),
    "fold_tokens": (("schedule", "tokens"),),
    "prompt_id_summary_global": (("hosted", "id"),),
    "prompt_version_summary_global": (("hosted", "version"),),
    "max_episodic_memories": (("max_episodes",),),
    "consolidation_threshold_days": (("consolidation_days",),),
}


def _change(profile: Profile, key: str, value: Any) -> Profile:
    names = {f.name for f in fields(Profile)}
    if key not in names and key not in KNOBS:
        raise InputError(f"profile {profile.name!r} has no value {key!r}; there are {sorted(names | set(KNOBS))}")
    for path in KNOBS.get(key, ((key,),)):
        profile = _with_value(profile, key, path, value)
    return profile


def _with_value(profile: Profile, key: str, path: tuple[str, ...], value: Any) -> Profile:
    if len(path) == 1:
        _check_type(profile, key, profile, path[0], value)
        return replace(profile, **{path[0]: value})
    part = getattr(profile, path[0])
    if part is None or path[1] not in {f.name for f in fields(part)}:
        raise InputError(f"profile {profile.name!r} has no {key!r}: its {path[0]} is {type(part).__name__}")
    _check_type(profile, key, part, path[1], value)
    return replace(profile, **{path[0]: replace(part, **{path[1]: value})})


_TAKES: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number of at least 0",
    float: "a number of at least 0",
    str: "text",
    NoneType: "nothing",
}


def _check_type(profile: Profile, key: str, holder: Any, name: str, value: Any) -> None:
    (kind,) = (f.type for f in fields(holder) if f.name == name)
    if not _fits(kind, value):
        kinds = get_args(kind) or (kind,)
        takes = " or ".join(_TAKES.get(k, k if isinstance(k, str) else f"a {k.__name__}") for k in kinds)
        raise InputError(f"profile {profile.name!r}: {key} takes {takes}, not {value!r}")


def _fits(kind: Any, value: Any) -> bool:
    if isinstance(kind, UnionType):
        return any(_fits(one, value) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind in {int, float}:
        number = isinstance(value, kind | int) and not isinstance(value, bool)
        return number and 0 <= value < math.inf
    return isinstance(value, get_origin(kind) or kind)
