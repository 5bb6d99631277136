"""What speaks for a row, and the sum of it: finite, explained, the same from few rows and from many."""

import random
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.search import signals as module
from lamina.search import vectors
from lamina.search.calibration import read_fitted
from lamina.search.explain import PARTS
from lamina.search.index import Entry, Index
from lamina.search.question import understand
from lamina.search.ranking import OF_PIECES, OF_TEXTS, Fit, Scores, fit_for, score_by_fit
from lamina.search.signals import NAMES, Query, share_of_best
from lamina.search.vectors import Floats
from tests.search.index_samples import (
    ASKED,
    START,
    VOCABULARY,
    an_entry,
    column,
    embed,
    entries,
    filled,
    questions,
    ranked,
    signals,
)
from tests.sizes import examples


def test_every_signal_has_its_weight_and_its_part() -> None:
    """Each name is in the tables, has weights for both regimes, and belongs to exactly one part."""
    told = [name for names in PARTS.values() for name in names]
    assert sorted(told) == sorted(NAMES)
    for file in ("weights_static.json", "weights_minilm.json"):
        assert sorted(read_fitted(file)) == sorted((*NAMES, "slope", "offset"))
    assert len(set(told)) == len(told)


@given(
    everything=entries(),
    query=questions,
    vectors=st.booleans(),
    meant=st.booleans(),
    fit=st.sampled_from([OF_PIECES, OF_TEXTS]),
)
@examples(60)
def test_scores_are_finite_and_the_sum_of_their_parts(
    everything: list[Entry], query: str, vectors: bool, meant: bool, fit: Fit
) -> None:
    """Whatever is there and whatever is asked; as a chance a score lies between 0 and 1, in the same order."""
    index = filled(everything, vectors=vectors)
    found = signals(index, query, meant=meant)
    assert sorted(found.rows.tolist()) == list(range(len(everything)))
    assert np.isfinite(found.table).all()
    assert found.cosines.min() >= 0
    assert found.cosines.max() <= 1 + 1e-5
    scored = score_by_fit(found, index.assisted, fit)
    assert np.isfinite(scored.values).all()
    assert scored.values == pytest.approx(scored.parts.sum(axis=1), abs=1e-4)
    chances = scored.chances(fit)
    assert 0 <= chances.min() <= chances.max() <= 1
    order = np.argsort(scored.values)
    assert (np.diff(chances[order]) >= 0).all()


@given(everything=entries(), query=questions, renamed=st.permutations(range(14)))
@examples(40)
def test_ids_do_not_matter(everything: list[Entry], query: str, renamed: list[int]) -> None:
    """The same things under other ids are ranked and scored the same."""
    names = {entry.id: f"z{renamed[number]}" for number, entry in enumerate(everything)}
    sessions = {entry.session for entry in everything}
    moved = {session: f"session of {names.get(session.removeprefix('alone '), session)}" for session in sessions}
    others = [
        an_entry(
            names[entry.id], entry.text, minutes=(entry.at - START) / timedelta(minutes=1), kind=entry.kind,
            session=moved[entry.session], seq=entry.seq, role=entry.role, speaker=entry.speaker,
            importance=entry.importance,
        )
        for entry in everything
    ]  # fmt: skip
    one, other = ranked(filled(everything), query), ranked(filled(others), query)
    assert [names[key] for key in one.ids] == other.ids
    assert {names[key]: score for key, score in one.scores.items()} == pytest.approx(other.scores, abs=1e-5)


@given(everything=entries(least=2), query=questions, allowed=st.sets(st.integers(0, 13)))
@examples(40)
def test_only_allowed_rows_come(everything: list[Entry], query: str, allowed: set[int]) -> None:
    """And no other; none at all is no error."""
    index = filled(everything)
    flags = np.isin(np.arange(len(everything)), list(allowed))
    found = signals(index, query, flags)
    assert found.rows.tolist() == np.flatnonzero(flags).tolist()
    assert len(found.table) == len(found.cosines) == len(found.rows)


# single signals

TALK = [
    an_entry("asks", "Where is the piano?", minutes=0, seq=1, speaker="Ann"),
    an_entry("answers", "In the kitchen since 1999.", minutes=1, seq=2, role="assistant", speaker="Bob"),
    an_entry("goes on", "My poem is done.", minutes=60 * 24, seq=3, speaker="Ann"),
    an_entry("elsewhere", "I like the garden.", minutes=60 * 48, session="session s2", seq=1, speaker="Ann"),
]


@pytest.mark.parametrize(
    ("name", "query", "has"),
    [
        pytest.param("asks", "piano?", {"asks"}, id="a-question"),
        pytest.param("opens", "piano?", {"asks", "elsewhere"}, id="first-of-its-session"),
        pytest.param("number", "piano?", {"answers"}, id="a-number"),
        pytest.param("number_asked", "When did it come?", {"answers"}, id="a-number-where-one-is-asked-for"),
        pytest.param("first_person", "piano?", {"goes on", "elsewhere"}, id="of-oneself"),
        pytest.param("liking", "piano?", {"elsewhere"}, id="what-one-likes"),
        pytest.param("speaker", "What did Bob say?", {"answers"}, id="who-is-named"),
        pytest.param("other_speaker", "What did Bob say?", {"asks", "goes on", "elsewhere"}, id="who-is-not"),
        pytest.param(
            "other_gathers", "Which poems has Bob read?", {"asks", "goes on", "elsewhere"}, id="who-is-not-in-a-list"
        ),
        pytest.param("other_gathers", "What did Bob say?", set(), id="no-list"),
        pytest.param("speaker", "What did Ann and Bob say?", set(), id="all-named-tells-nothing"),
        pytest.param("dated", "What was said on 2 March 2025?", {"goes on"}, id="said-on-that-day"),
        pytest.param("dated", "What was said in July 2024?", set(), id="said-at-no-such-time"),
    ],
)
def test_a_signal_is_for_those_it_is_of(name: str, query: str, has: set[str]) -> None:
    """A row has it or has it not."""
    found = column(filled(TALK), query, name)
    assert {key for key, value in found.items() if value > 0} == has


@pytest.mark.parametrize(
    ("query", "best"),
    [
        pytest.param("poem", "goes on", id="the-word-itself"),
        pytest.param("knife", "answers", id="a-word-near-to-it"),
        pytest.param("gravel", "elsewhere", id="another"),
    ],
)
@pytest.mark.parametrize("name", ["near_even", "meant"])
def test_words_and_meaning_find(query: str, best: str, name: str) -> None:
    """The row that has the word, or one that means something alike, is first in both ways."""
    found = column(filled(TALK), query, name)
    assert max(found, key=lambda key: found[key]) == best
    assert found[best] == 1.0


def test_without_a_vector_there_is_no_meaning() -> None:
    """Words speak alone: of a question, or of rows, that have no vector yet."""
    for index, meant in ((filled(TALK), False), (filled(TALK, vectors=False), True)):
        assert set(column(index, "poem", "meant", meant=meant).values()) == {0.0}
        assert ranked(index, "poem", meant=meant).ids[0] == "goes on"


def test_a_time_spoken_of_counts_as_well() -> None:
    """What is told on one day of another is found by that other."""
    index = filled([
        an_entry("a", "The boat leaves on 14 June 2025.", minutes=1),
        an_entry("b", "The barge leaves soon.", minutes=2),
    ])  # fmt: skip
    assert column(index, "What happens on 14 June 2025?", "dated_spoken") == {"a": 1.0, "b": 0.0}


def test_when_it_is_asked_moves_yesterday() -> None:
    """The same words ask for another day on another day."""
    index = filled(an_entry(f"day {n}", "boat", minutes=60 * 24 * n) for n in range(4))
    for day in range(1, 4):
        at = START + timedelta(days=day, hours=1)
        found = column(index, "What about the boat yesterday?", "dated", at=at)
        assert {key for key, value in found.items() if value > 0} == {f"day {day - 1}"}


def _floats(values: list[float]) -> Floats:
    return np.asarray(values, dtype=np.float32)


def test_shares_of_the_highest() -> None:
    """The best has 1; where there is nothing, nobody has any."""
    assert share_of_best(_floats([1, 4, 2])).tolist() == [0.25, 1.0, 0.5]
    assert share_of_best(_floats([0, 0])).tolist() == [0.0, 0.0]
    assert share_of_best(_floats([])).tolist() == []


@pytest.mark.parametrize("fit", [OF_PIECES, OF_TEXTS])
def test_extreme_scores_are_still_chances(fit: Fit) -> None:
    """No overflow, whatever the sum."""
    scored = Scores(values=_floats([-1e6, 0, 1e6]), parts=np.zeros((3, len(PARTS)), dtype=np.float32))
    chances = scored.chances(fit).tolist()
    assert 0 < chances[0] < chances[1] < chances[2] <= 1


def test_vectors_of_whole_texts_have_weights_of_their_own() -> None:
    """Whoever asks without a vector, or with one of the table that near words are found by, is asked as ever."""
    question, vector = understand("Where is the heron?", at=ASKED), _floats([1, 0])
    words = np.zeros((1, 2), dtype=np.float32)
    assert fit_for(Query(question=question, vector=vector, words=words)) is OF_PIECES
    assert fit_for(Query(question=question, vector=None, words=words, one_space=False)) is OF_PIECES
    assert fit_for(Query(question=question, vector=vector, words=words, one_space=False)) is OF_TEXTS


# very many rows


def clustered(seed: int, size: int = 600) -> Index:
    """Messages on six things, each of words of its own with others thrown in, in sessions of ten."""
    chance = random.Random(seed)
    topics = sorted({word[0] for word in VOCABULARY if word.isalpha()})
    said = []
    for number in range(size):
        topic = chance.choice(topics)
        own = [word for word in VOCABULARY if word[0] == topic]
        text = " ".join(chance.choices(own, k=4) + [f"x{chance.randrange(50)}" for _ in range(3)])
        session = f"session {number // 10}"
        said.append(an_entry(f"m{number}", text, minutes=number, session=session, seq=number % 10 + 1))
    return filled(said)


FOUR = ["boat and barge?", "kitchen knife", "the poem x7", "train tunnel x11 x12"]
FEW = {"WHOLE": 300, "CLOSE": 150}
ROUGH = {"EXACT": 300, "_ROUGH": 200}


def limit(patch: pytest.MonkeyPatch, limits: dict[str, int]) -> None:
    for name, value in limits.items():
        patch.setattr(module if hasattr(module, name) else vectors, name, value)


@pytest.mark.parametrize(
    ("limits", "first", "shared"),
    [pytest.param(FEW, 1, 9.5, id="few-looked-at"), pytest.param(FEW | ROUGH, 10, 8.5, id="few-compared-too")],
)
def test_few_of_many_rows_looked_at_closely_are_the_best(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], first: int, shared: float
) -> None:
    """Where there are too many to look at all, the best ones are those of the full computation."""
    common = []
    for seed in range(2):
        index = clustered(seed)
        for query in FOUR:
            whole = ranked(index, query)
            with monkeypatch.context() as patch:
                limit(patch, limits)
                rough = ranked(index, query)
            assert len(rough.ids) < len(whole.ids)
            assert rough.ids[0] in whole.ids[:first]
            common.append(len(set(rough.ids[:10]) & set(whole.ids[:10])))
    assert sum(common) / len(common) >= shared


def test_the_best_are_found_among_those_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many rows and few allowed, all of these are looked at, and no other."""
    index = clustered(1)
    allowed = np.zeros(len(index), dtype=np.bool_)
    allowed[100:140] = True
    whole = signals(index, "boat and barge?", allowed)
    limit(monkeypatch, FEW | {"EXACT": 300, "_ROUGH": 60})
    rough = signals(index, "boat and barge?", allowed)
    assert rough.rows.tolist() == whole.rows.tolist() == list(range(100, 140))
    assert rough.cosines == pytest.approx(whole.cosines, abs=1e-6)


def test_late_vectors_count_among_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs are kept with the vectors: one that comes after the first search is found as well."""
    limit(monkeypatch, {"EXACT": 50, "_ROUGH": 20})
    everything = [an_entry(f"m{n}", f"gravel x{n}", minutes=n) for n in range(100)]
    everything.append(an_entry("late", "boat", minutes=200))
    index = filled(everything, vectors=False)
    assert not signals(index, "bay?").cosines.any()
    embed(index, everything)
    found = signals(index, "bay?")
    assert index.ids[int(found.rows[np.argmax(found.cosines)])] == "late"
    assert found.cosines == pytest.approx(signals(filled(everything), "bay?").cosines, abs=1e-6)


def test_asked_in_the_future_and_the_past() -> None:
    """Times far from all that was said are no error."""
    index = filled(TALK)
    for year in (1, 1969, 9999):
        assert len(ranked(index, f"What of the poem in {year:04d}?", at=ASKED.replace(year=year)).ids) == 4
