"""Values as they are shown: on one line, and in a notebook."""

import re
from html.parser import HTMLParser

import pytest

from lamina import Memory

MARKUP = "<script>alert('tea')</script> & <img src=https://example.org/x.png>"


@pytest.fixture(scope="module")
def memory():
    with Memory(":memory:", worker=False) as memory:
        said = f"I live in Porto. {MARKUP} " + "And a lot more was said about the harbour. " * 40
        memory.add([said, {"role": "assistant", "content": "Noted."}], user_id="ann", session_id="s1")
        memory.settle()
        memory.end("s1")
        memory.settle()
        yield memory


def every_value(memory):
    (fact,) = memory.facts("ann")
    context = memory.context("Where do I live?", user_id="ann")
    return [
        fact,
        context,
        context.manifest,
        context.budget,
        *context.manifest.items,
        *memory.search("Porto", user_id="ann", explain=True),
        memory.search_explained("Porto", user_id="ann"),
        *memory.messages("s1"),
        *memory.summaries("s1"),
        memory.session("s1"),
        memory.conversation("s1"),
        memory.outline("s1"),
        memory.stats(),
        memory.verify(),
        memory.why(fact.id),
        memory.user_profile("ann"),
        memory.profile,
        memory.backlog(),
        memory.forget(text="harbour", user_id="ann", dry_run=True),
    ]


def test_a_repr_fits_on_a_line(memory):
    """And has at most a few words of what was said."""
    for value in every_value(memory):
        shown = repr(value)
        assert shown.startswith(f"{type(value).__name__}(")
        assert "\n" not in shown
        assert len(shown) <= 250
        assert all(len(text) <= 100 for text in re.findall(r"'([^']*)'", shown))


def test_a_repr_says_what_it_is(memory):
    (fact,) = memory.facts("ann")
    assert repr(fact) == f"Fact(id='{fact.id}', category='identity', key='location', value='Porto', status='active')"
    assert repr(memory.session("s1")) == "Session(id='s1', user_id='ann', status='ended', messages=2)"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = {}

    def handle_starttag(self, tag, attrs):
        self.seen.setdefault(tag, set()).update(name for name, _ in attrs)


def test_a_notebook_shows_values_without_running_them(memory):
    """What was said is text there, and nothing is loaded from elsewhere."""
    context = memory.context("Where do I live?", user_id="ann")
    hits = memory.search("Porto harbour", user_id="ann", explain=True)
    views = [value._repr_html_() for value in (context, *memory.facts("ann"), *hits)]
    assert any("&lt;script&gt;" in view for view in views)
    for view in views:
        tags = Tags()
        tags.feed(view)
        assert set(tags.seen) <= {"b", "p", "pre", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"}
        assert set().union(*tags.seen.values()) <= {"style"}
