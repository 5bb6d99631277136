"""Profiles: named configurations of the one engine, each a source document, plus `default`."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, field, fields, replace
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin

from lamina.errors import InputError
from lamina.frozen import dataclass


def _at_least(least: int, rule: Any, *names: str) -> None:
    """Refuse values with which a rule would do nothing, or never end."""
    for name in names:
        if getattr(rule, name) < least:
            raise InputError(f"{type(rule).__name__}: {name} must be at least {least}, not {getattr(rule, name)!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The newest messages, kept word for word."""

    unit: Literal["messages", "turns"]
    size: int
    fill: bool = False  # go further back while the budget allows

    def __post_init__(self) -> None:
        _at_least(1, self, "size")


# When messages are folded. Each schedule is a pure rule over the log: the same log folds the same way however late
# the worker comes.


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """000: at message window+1, then every `step` messages; reads what has just left the window."""

    window: int = 10
    step: int = 10

    def __post_init__(self) -> None:
        _at_least(1, self, "window", "step")


@dataclass(frozen=True, slots=True, kw_only=True)
class Overflow:
    """001: past `recent` unfolded messages the oldest `chunk` are folded."""

    recent: int = 20
    chunk: int = 10

    def __post_init__(self) -> None:
        _at_least(1, self, "recent", "chunk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """002: every `every` complete turns all but the newest `keep` are folded."""

    every: int = 20
    keep: int = 10

    def __post_init__(self) -> None:
        _at_least(1, self, "every")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """003: when the summary and the unfolded turns exceed `tokens`, all but the newest `keep` turns are folded."""

    tokens: int = 6_000
    keep: int = 3

    def __post_init__(self) -> None:
        _at_least(1, self, "keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """004: a batch of `least` turns is folded, or of up to `most` while it has fewer than `tokens` tokens."""

    least: int = 8
    most: int = 10
    tokens: int = 400

    def __post_init__(self) -> None:
        _at_least(1, self, "least", "most")


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWindow:
    """default: when over `tokens` lie before the newest `keep` turns, whole turns are folded up to a topic shift."""

    tokens: int = 1_500
    keep: int = 3
    least: float = 0.5  # share of those tokens that a fold takes at the least

    def __post_init__(self) -> None:
        _at_least(1, self, "keep")


Schedule = Stepped | Overflow | Periodic | Threshold | Batches | PastWindow


# What happens to summaries once there are many.


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """001: past `most` chunks the oldest two are joined as `Earlier: … Then: …`."""

    most: int = 25
    cap: int = 600

    def __post_init__(self) -> None:
        _at_least(1, self, "most")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntoLong:
    """004: when medium summaries pass `count` or `tokens`, they are folded into the one long summary."""

    count: int = 4
    tokens: int = 1_200
    cap: int = 800

    def __post_init__(self) -> None:
        _at_least(1, self, "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class FanOut:
    """default: when a layer holds `most` summaries, the oldest `width` are folded into the next layer."""

    most: int = 8
    width: int = 4
    cap: int = 400

    def __post_init__(self) -> None:
        _at_least(2, self, "most", "width")


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
    """A prompt that the model's provider keeps (document 003)."""

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
    sections: tuple[str, ...] = ()  # headings of a structured summary
    title: str | None = None  # first line of a structured summary
    prompts: Mapping[str, str] = field(default_factory=dict)  # task kind -> prompt file
    summarizer_model: str | None = None
    hosted: Hosted | None = None

    facts: bool = False  # keep what the user said of themselves, word for word
    categories: tuple[str, ...] = ()  # of facts that are kept; (): all
    conflicts: Literal["newest", "confidence", "flag"] = "newest"  # what happens when two values meet
    least_confidence: float = 0.4  # a fact less sure is not kept
    least_importance: float = 0.2  # a fact less important is not kept
    promote_confidence: float = 0.0  # a fact less sure waits as a candidate until it is promoted by hand
    shown_importance: float = 0.5  # a fact less important is not shown unless it is asked for
    episodes: bool = False  # keep the moments that mattered
    max_episodes: int = 100  # of one user; beyond these, the least significant go
    half_life_days: float = 30  # of a memory that is not used
    consolidation_days: float = 30  # memories older than this may be archived
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
    retrieval_top_k: int = 10
    relevance_threshold: float = 0.3  # score under which nothing is recalled
    semantic_weight: float = 0.0  # of the weighted sum of document 001; all 0: the calibrated sum ranks
    keyword_weight: float = 0.0
    recency_weight: float = 0.0
    importance_weight: float = 0.0
    access_weight: float = 0.0
    episode_distance: float | None = None  # summaries nearer to the query than this come first

    digest_sessions: int = 5  # how many earlier sessions a new session hears of; 0: none
    digest_cap: int = 400
    archive_days: float | None = None  # ended sessions are archived after so many days
    idle_hours: float | None = None  # an untouched session ends by itself after so many hours

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The weights of document 001, summing to 1; None: the calibrated sum ranks."""
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
            profile = _changed(profile, key, value)
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


def _changed(profile: Profile, key: str, value: Any) -> Profile:
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


MEDIUM_TERM = Profile(
    name="medium_term",
    window=Window(unit="messages", size=10),
    schedule=Stepped(window=10, step=10),
    kind="rolling",
    layout="medium_term",
    steps=(Step(section="recent"), Step(section="facts"), Step(section="digest"), Step(section="summaries", cut=True)),
    budget=16_000,
    facts=True,
    archive_days=30,
    cap=1_000,
    least=500,
    total_cap=7_000,
    title="# Medium-Term Memory",
    sections=(
        "User's Journey & Insights",
        "Current Situation & Context",
        "Ongoing Work & Interests",
        "Preferences & Patterns",
    ),
    prompts={
        "initial": "medium_term_initial",
        "update": "medium_term_update",
        "compress": "compress",
        "final": "medium_term_update",
        "digest": "digest",
    },
)

PROJECT = Profile(
    name="project",
    window=Window(unit="messages", size=20),
    schedule=Overflow(recent=20, chunk=10),
    kind="chunk",
    upkeep=Merge(most=25),
    layout="project",
    steps=(
        Step(section="recent", share=0.6),
        Step(section="recalled", share=0.4),
        Step(section="summaries"),
        Step(section="recent"),
        Step(section="recalled"),
    ),
    budget=128_000,
    cap=200,
    least=100,
    facts=True,
    promote_confidence=0.7,
    episodes=True,
    semantic_weight=0.4,
    keyword_weight=0.3,
    recency_weight=0.2,
    importance_weight=0.1,
    short_term_retention_turns=50,
    system_prompt_tokens=2_000,
    working_memory_tokens=8_000,
    digest_sessions=0,
    prompts={"chunk": "chunk", "final": "chunk", "compress": "compress"},
)

ASSISTANT = Profile(
    name="assistant",
    window=Window(unit="turns", size=10),
    schedule=Periodic(every=20, keep=10),
    kind="chunk",
    layout="assistant",
    steps=(Step(section="recent"), Step(section="facts"), Step(section="summaries", limit=3)),
    budget=8_000,
    cap=250,
    excerpt=150,
    facts=True,
    categories=("identity", "preference", "constraint", "instruction"),
    conflicts="confidence",
    summary_order="relevance",
    episode_distance=0.75,  # 0.4 in the document, for vectors that put alike texts nearer than static ones do
    digest_sessions=0,
    prompts={"chunk": "chunk", "final": "chunk", "compress": "compress"},
)

CHUNKED = Profile(
    name="chunked",
    window=Window(unit="turns", size=3),
    schedule=Threshold(tokens=6_000, keep=3),
    kind="rolling",
    layout="chunked",
    steps=(Step(section="summaries", cut=True), Step(section="recent")),
    budget=3_000,
    cap=500,
    least=400,
    total_cap=500,
    digest_sessions=0,
    prompts={
        "initial": "chunked_summary",
        "update": "chunked_summary",
        "final": "chunked_summary",
        "compress": "compress",
    },
    summarizer_model="gpt-5.1-nano",
    hosted=Hosted(id="pmpt_6917ebe9367c819396fe4840cf0f0e050c18a965a3366120"),
)

LAYERED = Profile(
    name="layered",
    window=Window(unit="turns", size=4),
    schedule=Batches(least=8, most=10),
    kind="medium",
    upkeep=IntoLong(count=4),
    layout="layered",
    steps=(Step(section="facts"), Step(section="recent"), Step(section="summaries")),
    budget=4_000,
    cap=300,
    facts=True,
    categories=("identity", "preference", "goal", "constraint"),
    conflicts="flag",
    digest_sessions=0,
    prompts={"medium": "medium", "final": "medium", "long": "long", "compress": "compress"},
)

DEFAULT = Profile(
    name="default",
    window=Window(unit="turns", size=3, fill=True),
    schedule=PastWindow(tokens=1_500, keep=3),
    kind="layer",
    upkeep=FanOut(most=8, width=4),
    close_gaps=True,
    layout="default",
    steps=(
        Step(section="facts", share=0.15, limit=3),
        Step(section="facts", share=0.05),
        Step(section="recent", limit=3),
        Step(section="gap"),
        Step(section="summaries", share=0.4),
        Step(section="recalled", share=0.5),
        Step(section="digest", share=0.1),
        Step(section="summaries"),
        Step(section="recent"),
        Step(section="recalled"),
        Step(section="digest"),
        Step(section="facts"),
    ),
    budget=4_000,
    retrieval_top_k=400,
    relevance_threshold=0.00001,
    cap=300,
    facts=True,
    episodes=True,
    never_archived=("identity", "constraint", "instruction"),
    summary_order="coverage",
    digest_cap=350,  # with its heading within its share of the budget
    idle_hours=24,
    prompts={"layer": "layer", "final": "layer", "fold": "layer", "compress": "compress", "digest": "digest"},
)

PROFILES: Mapping[str, Profile] = {
    profile.name: profile for profile in (DEFAULT, MEDIUM_TERM, PROJECT, ASSISTANT, CHUNKED, LAYERED)
}


def profile_named(name: str) -> Profile:
    """The profile of that name, or an error that lists all names."""
    try:
        return PROFILES[name]
    except KeyError:
        raise InputError(f"no profile {name!r}; there are {sorted(PROFILES)}") from None


def as_profile(profile: Any) -> Profile:
    """A profile, from itself or its name."""
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, str):
        return profile_named(profile)
    raise InputError(f"profile must be a name or a Profile, not {type(profile).__name__}")


def profile_values(profile: Profile) -> dict[str, Any]:
    """Every value of a profile, as plain data to show or store."""
    values = asdict(profile)
    for part in ("schedule", "upkeep"):
        held = getattr(profile, part)
        if held is not None:
            values[part] = {"rule": type(held).__name__, **values[part]}
    return values


_RULES: Mapping[str, type[Any]] = {
    rule.__name__: rule
    for rule in (Stepped, Overflow, Periodic, Threshold, Batches, PastWindow, Merge, IntoLong, FanOut)
}


def profile_kept(text: str) -> Profile:
    """The profile that is kept with data: its values as JSON, or, by early versions, its name."""
    return PROFILES[text] if text in PROFILES else profile_from(json.loads(text))


def profile_from(values: Mapping[str, Any]) -> Profile:
    """The profile that `profile_values` described."""
    plain = dict(values)
    for part in ("schedule", "upkeep"):
        if plain.get(part) is not None:
            rule = dict(plain[part])
            plain[part] = _RULES[rule.pop("rule")](**rule)
    plain["window"] = Window(**plain["window"])
    plain["steps"] = tuple(Step(**step) for step in plain["steps"])
    for name in ("sections", "categories", "never_archived"):
        plain[name] = tuple(plain.get(name, ()))
    plain["hosted"] = None if plain.get("hosted") is None else Hosted(**plain["hosted"])
    return Profile(**plain)
