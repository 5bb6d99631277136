"""What a client sends again is known again; nothing that is new is taken for old."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.log.resent import Sign, compare, join, sign


def talk(text):
    """`u:hi a:hello` as signs."""
    roles = {"u": "user", "a": "assistant", "t": "tool"}
    return [Sign(roles[one[0]], one[2:]) for one in text.split()]


CASES = {
    "nothing kept": ("u:hi", "", "u:hi", None),
    "a whole history for the first time": ("u:1 a:2 u:3", "", "u:1 a:2 u:3", None),
    "history and a new message": ("u:1 a:2 u:3", "u:1 a:2", "u:3", 0),
    "only the end of the history": ("u:3 a:4 u:5", "u:1 a:2 u:3 a:4", "u:5", 2),
    "the same once more, not answered": ("u:1 a:2 u:3", "u:1 a:2 u:3", "", 0),
    "the same once more, answered": ("u:1 a:2 u:3", "u:1 a:2 u:3 a:4", "", 0),
    "one message, not answered": ("u:1", "u:1", "", 0),
    "one message as before, answered": ("u:ok", "u:ok a:done", "u:ok", None),
    "an old phrase again": ("u:ok a:done u:ok", "u:ok a:done u:ok a:done", "u:ok", 2),
    "another message instead of the last": ("u:1 a:2 u:3b", "u:1 a:2 u:3 a:4", "u:3b", 0),
    "a shortened reply": ("u:1 a:2short u:3", "u:1 a:2", "u:3", 0),
    "a reply that was made twice": ("u:1 a:2b u:3", "u:1 a:2 a:2b", "u:3", 0),
    "results of tools": ("u:1 a:calls t:r1 t:r2", "u:1 a:calls", "t:r1 t:r2", 0),
    "results of tools again": ("u:1 a:calls t:r1 t:r2", "u:1 a:calls t:r1 t:r2", "", 0),
    "what came around us": ("u:1 a:2 u:3 a:4 u:5", "u:1 a:2", "u:3 a:4 u:5", 0),
    "the middle is left out": ("u:1 a:2 u:7 a:8 u:9", "u:1 a:2 u:3 a:4 u:5 a:6 u:7 a:8", "u:9", 6),
    "another talk in the same session": ("u:x", "u:1 a:2", "u:x", None),
    "nothing": ("", "u:1 a:2", "", None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_new(case):
    told, kept, new, seen = CASES[case]
    found = compare(talk(told), talk(kept))
    assert [talk(told)[i] for i in found.new] == talk(new)
    assert found.seen == seen


FORGOTTEN = {  # what is `x` in the log was forgotten
    "the first": ("u:1 a:2 u:3", "u:x a:2", "u:3"),
    "one between": ("u:1 a:2 u:3 a:4 u:5", "u:1 a:2 u:x a:4", "u:5"),
    "some in a row": ("u:1 a:2 u:3 a:4 u:5", "u:1 a:x u:x a:x", "u:5"),
    "all": ("u:1 a:2 u:3", "u:x a:x", "u:3"),
    "all but what is tried again": ("u:1 a:2 u:3", "u:x a:x u:3", ""),
    "the end, and the client sends only that": ("u:3 a:4 u:5", "u:1 a:2 u:x a:x", "u:5"),
    "in a turn with tools": ("u:1 a:calls t:r u:2 a:calls t:r", "u:x a:calls t:x u:2 a:calls", "t:r"),
    "the newest, which is said again": ("u:1", "u:x", "u:1"),
    "another role": ("u:0 u:1 u:2", "u:0 a:x", "u:1 u:2"),
    "more is told than there was": ("u:0 u:1 a:2 u:3", "u:x a:2", "u:0 u:3"),
}


@pytest.mark.parametrize("case", FORGOTTEN)
def test_what_was_forgotten_is_not_new_though_it_is_told_again(case):
    told, kept, new = FORGOTTEN[case]
    log = talk(kept)
    found = compare(talk(told), log, gone=[i for i, one in enumerate(log) if one.text == "x"])
    assert [talk(told)[i] for i in found.new] == talk(new)


def test_a_client_that_tries_again_says_so():
    """Then a message alone is known, though it was answered."""
    assert compare(talk("u:ok"), talk("u:ok a:done"), retried=True).new == ()
    assert compare(talk("u:ok"), talk("u:ok a:done"), retried=True).answered
    assert compare(talk("u:no"), talk("u:ok a:done"), retried=True).new == (0,)


def test_messages_are_known_again_by_their_words():
    parts = {"role": "user", "content": [{"type": "text", "text": "Hello\n there "}]}
    assert sign(parts) == sign({"role": "user", "content": "Hello there"})
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert sign({"role": "assistant", "content": None, "tool_calls": [call]}) == sign(
        {"role": "assistant", "content": "", "tool_calls": [{**call, "id": "2"}]}
    )


SAID = st.sampled_from(["a", "b", "c", "d", "ok", "yes"])


@given(st.lists(SAID, min_size=1, max_size=12), st.integers(1, 24))
def test_a_client_that_sends_its_last_messages_loses_nothing(said, reach):
    """However much of the history is sent each time, and however often words come again: all is kept once, in order."""
    kept: list[Sign] = []
    real: list[Sign] = []
    for number, words in enumerate(said):
        real.append(Sign("user", words))
        told = real[-2 * reach + 1 :]
        found = compare(told, kept)
        assert len(told) - 1 in found.new
        kept += [told[i] for i in found.new]
        for log in (real, kept):
            log.append(Sign("assistant", f"reply {number}"))
        assert kept == real


@given(st.lists(SAID, min_size=1, max_size=8), st.lists(SAID, min_size=1, max_size=8))
def test_users_messages_are_never_dropped(kept, told):
    """Each message of a user that is not new stands in the log, in the same order."""
    before = [Sign("user", words) for words in kept]
    now = [Sign("user", words) for words in told]
    found = compare(now, before)
    rest = [one for place, one in enumerate(now) if place not in found.new]
    steps = iter(before)
    assert all(one in steps for one in rest)
    assert all(one < two for one, two in pairwise(found.new))


JOINS = {
    "nothing kept": ("u:1 a:2 u:3", "", None),
    "at the end": ("u:1 a:2 u:3", "u:1 a:2", "end"),
    "at the end, without the reply": ("u:1 a:2 u:3", "u:1", "end"),
    "the end of the history": ("u:3 a:4 u:5", "u:1 a:2 u:3 a:4", "end"),
    "behind a summary": ("u:s a:x u:3 a:4 u:5", "u:1 a:2 u:3 a:4", "end"),
    "once more": ("u:1 a:2 u:3", "u:1 a:2 u:3 a:4", "end"),
    "changed": ("u:1 a:2 u:3b", "u:1 a:2 u:3 a:4", "earlier"),
    "results of a tool": ("u:1 a:call t:r", "u:1 a:call", "end"),
    "another question, the same reply": ("u:1 a:ok u:2 a:ok u:3", "u:1 a:ok u:x a:ok", None),
    "only replies are the same": ("u:1 a:ok u:2", "u:x a:ok", None),
    "a beginning": ("u:1", "", None),
    "a beginning that was answered": ("u:1", "u:1 a:2", None),
    "a beginning that was not answered": ("u:1", "u:1", "end"),
    "a beginning of two messages": ("u:0 u:1", "u:0 u:1", "end"),
    "a greeting": ("a:hi u:1", "a:hi u:1", "end"),
    "a greeting before another message": ("a:hi u:2", "a:hi u:1", None),
    "another beginning": ("u:1", "u:2", None),
}


@pytest.mark.parametrize("case", JOINS)
def test_a_conversation_goes_on_from_the_log_that_has_it(case):
    sent, kept, found = JOINS[case]
    assert join(talk(sent), talk(kept)) == found


def test_a_beginning_that_was_answered_goes_on_if_the_client_tries_again():
    assert join(talk("u:1"), talk("u:1 a:2"), retried=True) == "end"
    assert join(talk("u:1"), talk("u:1 a:2 u:3"), retried=True) is None


def test_a_forgotten_message_is_no_reason_to_begin_anew():
    assert join(talk("u:1 a:2 u:3 a:4 u:5"), talk("u:1 a:2 u: a:4"), gone=[2]) == "end"
