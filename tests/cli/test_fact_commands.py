"""The commands for what is known: facts in time, by hand, linked, consolidated, written anew."""

import io
import json
import re
import shutil

import pytest
from rich.console import Console

from lamina import Memory
from lamina.cli import display_knowledge
from lamina.testing.samples import at
from lamina.values.message import Span
from lamina.values.summary import Change, Divergence, Proposal

SAID = [
    ("s1", "I'm Alex and I live in Ghent.", "2025-01-10T09:00:00+00:00"),
    ("s1", "My editor is Helix.", "2025-01-10T09:05:00+00:00"),
    ("s2", "I moved to Lisbon. My editor is Zed now.", "2025-05-02T09:00:00+00:00"),
]


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """A memory of a user who moved."""
    path = tmp_path_factory.mktemp("moved") / "lamina.db"
    with Memory(path, worker=False) as memory:
        for session, text, at in SAID:
            memory.add({"role": "user", "content": text, "created_at": at}, user_id="alex", session_id=session)
        memory.settle()
    return path


@pytest.fixture
def told(cli, moved):
    """The command line over a copy of it."""
    shutil.copy(moved, "lamina.db")
    return cli


def data(done):
    assert (done.code, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def place(cli, *words):
    found = data(cli("facts", "-u", "alex", "--json", *words))
    return [fact["value"] for fact in found if fact["key"] == "location"]


def fact(cli, key, user="alex", status="active"):
    found = data(cli("facts", "-u", user, "--status", status, "--json"))
    return next(one["id"] for one in found if one["key"] == key)


@pytest.mark.parametrize(
    ("words", "places"),
    [
        pytest.param([], ["Lisbon"], id="now"),
        pytest.param(["--as-of", "2025-03-01"], ["Ghent"], id="as-of"),
        pytest.param(["--as-of", "2024-01-01"], [], id="before-anything"),
        pytest.param(["--known-at", "2025-03-01"], ["Ghent"], id="known-at"),
        pytest.param(["--status", "superseded"], ["Ghent"], id="status"),
        pytest.param(["--status", "superseded", "--status", "active"], ["Ghent", "Lisbon"], id="two-statuses"),
        pytest.param(["--category", "identity"], ["Lisbon"], id="category"),
        pytest.param(["--category", "preference"], [], id="other-category"),
        pytest.param(["--type", "decision"], [], id="type"),
        pytest.param(["--tag", "home"], [], id="tag"),
        pytest.param(["--since", "2025-02-01"], ["Lisbon"], id="since"),
        pytest.param(["--until", "2025-02-01"], [], id="until"),
        pytest.param(["--min-importance", "0.99"], [], id="importance"),
        pytest.param(["--session", "s1"], [], id="session"),
        pytest.param(["--about", "Alex"], ["Lisbon"], id="about-the-user"),
        pytest.param(["--about", "Lena"], [], id="about-another"),
    ],
)
def test_facts_by_time_and_by_filter(told, words, places):
    """What holds now, or then, or by what was known then; and only what was asked for."""
    assert place(told, *words) == places


def test_facts_are_a_table(told):
    """Short id, category, key and value, status, since, until, confidence."""
    shown = told("facts", "-u", "alex", "--status", "superseded").out
    assert "id category fact status since until conf." in shown
    editor = fact(told, "editor", status="superseded")
    assert f"{editor[-8:]} preference editor: Helix superseded 2025-01-10 2025-05-02 0.9" in shown
    assert told("facts", "-u", "nobody").err.startswith("error: there is no user 'nobody'")


def test_a_fact_tells_its_history_and_why(told):
    """Every value in order; the words, the message, and what it took the place of."""
    location = fact(told, "location")
    assert [one["value"] for one in data(told("history", location, "--json"))] == ["Ghent", "Lisbon"]
    assert "I live in Ghent" in told("history", location).out
    found = data(told("why", location, "--json"))
    assert (found["fact"]["quote"], found["before"]["value"]) == ("I moved to Lisbon", "Ghent")
    shown = told("why", location).out
    assert "I moved to Lisbon. My editor is Zed now." in shown
    assert "took the place of 'location: Ghent'" in shown


@pytest.mark.parametrize("piece", [slice(-8, None), slice(-4, None), slice(5, 35), slice(0, 36)])
def test_a_fact_may_be_named_by_a_piece_of_its_id(told, piece):
    """Its end, as tables show it, or its beginning."""
    location = fact(told, "location")
    assert data(told("why", location[piece], "--json"))["fact"]["id"] == location


def test_a_piece_that_many_have_is_refused(told):
    """With pieces that would do."""
    done = told("why", "fact")
    assert done.code == 2
    assert "5 facts begin or end with 'fact'; give more of the id" in done.err
    assert "too short" in told("why", "a").err
    done = told("why", "zzzz")
    assert (done.code, done.err) == (1, "error: no fact with the id or key 'zzzz'; `lamina facts` lists them")


def test_a_piece_of_an_id_of_a_user_without_sessions_is_found(cli):
    """With the user, and without."""
    stored = data(cli("remember", "Likes dill", "-u", "bea", "--json"))["id"]
    assert cli("why", stored[-8:]).code == 0
    assert data(cli("why", stored[-8:], "-u", "bea", "--json"))["fact"]["id"] == stored


def test_the_profile_is_a_page_or_data(told):
    """Markdown as it is, not wrapped for a terminal."""
    page = told("user-profile", "alex", "--as-of", "2025-03-01").stdout
    assert page.startswith("# alex\n\nAs of 2025-03-01.\n\n## Who they are\n")
    assert "- location: Ghent (since 2025-01-10, until 2025-05-02)\n" in page
    assert "- location: Ghent (since 2025-01-10)\n" in told("user-profile", "alex", "--known-at", "2025-03-01").stdout
    identity = data(told("user-profile", "alex", "--json"))["categories"]["identity"]
    assert {one["key"]: one["value"] for one in identity} == {"name": "Alex", "location": "Lisbon"}


def test_memories_by_hand(cli):
    """Remembered, updated, demoted, promoted, retracted; the history has all of it."""
    words = ["--type", "preference", "--category", "food", "--key", "drink", "--tag", "kitchen", "--importance", "0.9"]
    until = ["--valid-from", "2025-01-01", "--valid-until", "2099-01-01", "--confidence", "0.8"]
    first = data(cli("remember", "tea", *words, *until, "--json"))
    assert (first["value"], first["tags"], first["importance"], first["confidence"]) == ("tea", ["kitchen"], 0.9, 0.8)
    assert cli("remember", "tea", *words).out == f"{first['id'][-8:]} already known: drink: tea"
    assert "told by hand" in cli("why", first["id"]).out
    second = data(cli("update", first["id"], "coffee", "--tag", "morning", "--json"))
    assert (second["value"], second["tags"], second["version"]) == ("coffee", ["morning"], 2)
    assert cli("update", second["id"][-8:], "--importance", "0.1", "--valid-until", "2098-01-01").code == 0
    third = fact(cli, "drink", user="default")
    assert data(cli("demote", third, "--json"))["status"] == "candidate"
    assert data(cli("promote", third, "--json"))["status"] == "active"
    assert data(cli("retract", third, "--json"))["status"] == "retracted"
    assert [one["value"] for one in data(cli("history", third, "--json"))] == ["tea", "coffee", "coffee"]


def test_memories_are_linked_and_walked(told):
    """Facts and episodes, as far as asked."""
    location, editor, name = (fact(told, key) for key in ("location", "editor", "name"))
    assert (
        data(told("link", location, editor[-8:], "--type", "causes", "--strength", "0.5", "--json"))["strength"] == 0.5
    )
    episode = data(told("add-episode", "s2", "Moved", "--kind", "pivot", "--first", "1", "--json"))["id"]
    assert told("link", editor, name).out == f"{editor[-8:]} related to {name[-8:]} (1)"
    assert told("link", name, episode[-8:]).code == 0
    near = data(told("graph", location, "--depth", "1", "--json"))
    assert {node["id"] for node in near["nodes"] if node["id"].startswith("fact")} == {location, editor}
    far = {node["id"] for node in data(told("graph", location, "--depth", "3", "--json"))["nodes"]}
    assert far >= {location, editor, name, episode}
    assert len(data(told("graph", location, "--depth", "3", "--type", "causes", "--json"))["nodes"]) == 2
    shown = told("graph", episode[-8:]).out
    assert "episode Moved" in shown
    assert "fact name: Alex" in shown


def test_episodes_and_the_arc(told):
    """Told by hand they are found by kind, time, weight and session, and have a place in the arc."""
    words = ["--summary", "Lisbon it is", "--outcome", "keys in hand", "--significance", "0.9", "--valence", "0.5"]
    made = data(told("add-episode", "s2", "Signed the lease", "--kind", "decision_made", *words, "--json"))
    assert made["turns"] == {"first": 1, "last": 1}
    asked = ["--kind", "decision_made", "--since", "2025-05-01", "--min-significance", "0.8", "--session", "s2"]
    assert [one["id"] for one in data(told("episodes", "-u", "alex", *asked, "--json"))] == [made["id"]]
    assert told("episodes", "-u", "alex", *asked, "--until", "2025-05-01").out == "no episodes"
    assert "decision made · s2, turn 1" in told("episodes", "-u", "alex").out
    assert "decision made Signed the lease s2, turn 1 0.90" in told("episodes", "-u", "alex", COLUMNS="").out
    assert made["id"] in [one["id"] for one in data(told("arc", "s2", "--json"))["key_moments"]]
    assert "★ turn 1, decision made: Signed the lease" in told("arc", "s2").out


def test_search_finds_what_is_known_with_filters(told):
    """Facts by type, category, tag; kinds of hits; times; the parts of the score on request."""
    told("remember", "Lisbon office is on the third floor", "-u", "alex", "--tag", "office")
    kinds = {hit["kind"] for hit in data(told("search", "Lisbon", "-u", "alex", "--json"))}
    assert {"message", "fact"} <= kinds
    asked = ["search", "Lisbon", "-u", "alex", "--json"]
    assert {hit["kind"] for hit in data(told(*asked, "--kind", "fact", "--kind", "episode"))} <= {"fact", "episode"}
    assert [hit["text"] for hit in data(told(*asked, "--tag", "office"))] == ["Lisbon office is on the third floor"]
    assert [hit["text"] for hit in data(told(*asked, "--category", "identity"))] == ["location: Lisbon"]
    assert data(told(*asked, "--type", "goal")) == []
    assert all(hit["created_at"] < "2025-02-01" for hit in data(told(*asked, "--until", "2025-02-01")))
    assert data(told(*asked, "--kind", "fact", "--min-importance", "0.99")) == []
    assert data(told(*asked, "--since", "2025-02-01", "--explain"))[0]["parts"]["words"] > 0


def test_search_shows_only_what_is_likely_enough(told):
    """By default all that is related; the same with the parts of the scores."""
    asked = ["search", "Where do I live?", "-u", "alex", "--json"]
    every = data(told(*asked))
    for more in ([], ["--explain"]):
        likely = data(told(*asked, "--min-score", "0.5", *more))
        assert [hit["id"] for hit in likely] == [hit["id"] for hit in every if hit["score"] >= 0.5]
    assert "location: Lisbon" in [hit["text"] for hit in likely]
    assert "nothing found" in told("search", "Who won the match yesterday?", "-u", "alex", "--min-score", "0.3").out


LISBON = ["search", "Lisbon", "-u", "alex"]


def test_explain_shows_what_did_most_for_a_score(told):
    """At most five parts, the largest first, and the likeness of the vectors; as JSON all of them."""
    (hit,) = data(told(*LISBON, "--explain", "-k", "1", "--json"))
    named = sorted(hit["parts"].keys() - {"cosine"}, key=lambda name: -abs(hit["parts"][name]))
    shown = told(*LISBON, "--explain", "-k", "1").out
    assert f"{named[0].replace('_', ' ')} {hit['parts'][named[0]]:.2f}" in shown
    assert f"cosine {hit['parts']['cosine']:.2f}" in shown
    assert named[-1].replace("_", " ") + " " not in shown
    assert "cosine" not in told(*LISBON, "-k", "1").out


def test_explain_tells_how_the_search_went(told):
    """In a line behind the hits, of which there may be none; without the option there is none."""
    line = re.compile(r"\d+ of \d+ matched; open [\d.]+ ms, understand [\d.]+ ms, embed .* ms, rank .* ms, read .* ms")
    assert line.search(told(*LISBON, "--explain").out)
    assert re.search(r"nothing found \d+ of \d+ matched", told("search", "xylophone", "-u", "alex", "--explain").out)
    assert "related" not in told(*LISBON).out


def test_search_within_a_session_a_role_and_a_time(told):
    """Only what was said there, by whom, and what held then."""
    told("add", "Lisbon is sunny.", "-u", "alex", "-s", "s1", "--role", "assistant")
    assert {hit["session_id"] for hit in data(told(*LISBON, "--session", "s1", "--json"))} == {"s1"}
    assert {hit["role"] for hit in data(told(*LISBON, "--role", "assistant", "--json"))} == {"assistant"}
    asked = ["search", "location", "-u", "alex", "--kind", "fact", "--json"]
    assert "location: Lisbon" in [hit["text"] for hit in data(told(*asked))]
    then = [hit["text"] for hit in data(told(*asked, "--as-of", "2025-03-01"))]
    assert "location: Ghent" in then
    assert "location: Lisbon" not in then
    assert then == [hit["text"] for hit in data(told(*asked, "--at", "2025-03-01"))]


def test_archived_sessions_are_found_on_request(told):
    """Laid aside until they are asked for."""
    asked = [*LISBON, "--kind", "message", "--json"]
    assert "s2" in {hit["session_id"] for hit in data(told(*asked))}
    told("archive", "s2")
    assert "s2" not in {hit["session_id"] for hit in data(told(*asked))}
    assert "s2" in {hit["session_id"] for hit in data(told(*asked, "--archived"))}


def test_a_search_may_have_weights_of_its_own(told):
    """Each by name; what is no weight is said so."""
    (hit,) = data(told(*LISBON, "--weight", "keyword=3", "--weight", "access=1", "--explain", "-k", "1", "--json"))
    assert hit["parts"]["keyword"] == pytest.approx(0.75)
    assert hit["parts"]["semantic"] == 0
    for wrong, words in (("keyword", "--weight takes NAME=VALUE"), ("loudness=1", "no weight 'loudness'; there are")):
        refused = told(*LISBON, "--weight", wrong)
        assert refused.code == 2
        assert words in refused.err


def test_a_context_may_be_asked_for_as_of_another_day(told):
    """It has the facts that held then."""
    asked = ["context", "Which editor do I use?", "-u", "alex", "-s", "s3", "--json"]

    def facts(at):
        built = data(told(*asked, "--at", at))
        return sum(item["kind"] == "fact" for item in built["manifest"]["items"])

    assert (facts("2024-06-01"), facts("2025-06-01")) == (0, 3)
    assert told(*asked, "--at", "noon").code == 2


def test_settle_says_how_many_vectors_it_gave(told):
    """The new message gets its own, and so does the digest that tells of it."""
    told("add", "The quay closes at 18:00.", "-u", "alex", "--no-settle")
    assert "2 vectors, 1 digest" in told("settle").out
    assert data(told("settle", "--json"))["vectors"] == 0


def test_nothing_is_regenerated_for_who_has_opted_out(told):
    """It says who has, and what ends that."""
    told("opt-out", "alex")
    refused = told("regenerate", "s1")
    assert (refused.code, refused.out) == (1, "")
    assert "user 'alex' has opted out" in refused.err
    assert told("proposals").out == "no proposals"


def test_a_session_is_written_anew_accepted_and_rolled_back(told):
    """Beside what there is; a proposal may be named by a piece of its id, too."""
    told("end", "s1")
    made = data(told("regenerate", "s1", "--from", "2", "--json"))
    assert made["status"] == "open"
    assert "open" in told("proposals", "--session", "s1").out
    assert told("proposals", "--session", "s2").out == "no proposals"
    assert data(told("accept", made["id"][-8:], "--json"))["status"] == "accepted"
    assert "rolled back" in told("roll-back", made["id"]).out
    assert data(told("regenerate", "s1", "--accept", "--json"))["status"] == "accepted"
    assert told("verify").code == 0


def test_consolidation_and_agreement(told):
    """Numbers for people, everything for scripts; memories of half a year ago have decayed."""
    assert "decayed" in told("consolidate", "--user", "alex").out
    assert data(told("consolidate", "--json"))["decayed"] == 0
    assert told("consistency", "-u", "alex").out == "the summaries of alex agree with the facts"


def test_statistics_have_the_facts_by_their_standing(told):
    assert "facts count active 3 superseded 2" in told("stats").out


def shown(value):
    console = Console(width=100, file=io.StringIO())
    with console.capture() as printed:
        console.print(value)
    return " ".join(printed.get().split())


def test_what_does_not_agree_is_a_table():
    """Of a summary of a session, or of the digest."""
    found = [
        Divergence(kind="stale", fact_id="f1", summary_id="sum-1", session_id="[s1]", text="has Ghent"),
        Divergence(kind="missing", fact_id="f2", summary_id="sum-2", session_id=None, text="lacks Zed"),
    ]
    table = shown(display_knowledge.divergences_table(found))
    assert "kind summary session what" in table
    assert "stale sum-1 [s1] has Ghent" in table
    assert "missing sum-2 digest lacks Zed" in table


def test_what_was_written_anew_is_shown_sentence_by_sentence():
    """What is new, gone or changed, of which messages, and how far it drifted."""
    changes = (
        Change(kind="summary", span=Span(first=1, last=9), before="a", after="b", diff="-Tea.\n+Rum.", drift=0.5),
        Change(kind="fact", span=None, before=None, after="b", diff="+editor: Zed", drift=1.0),
        Change(kind="fact", span=None, before="a", after=None, diff="-editor: Helix", drift=1.0),
    )
    made = Proposal(
        id="p1", session_id="s1", status="open", recipe="offline", changes=changes, drift=0.5, created_at=at()
    )
    text = shown(display_knowledge.proposal(made))
    for title in ("summary · messages 1-9 · changed · drift 0.50", "fact · new · drift 1.00", "fact · gone"):
        assert title in text
    assert re.search(r"-Tea\.\W+\+Rum\.", text)  # in a box, or without one where it is no terminal


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["facts", "--as-of", "soon"], "--as-of 'soon' is no time; e.g. 2025-03-14", id="time"),
        pytest.param(["facts", "--status", "gone"], "no status 'gone'; there are", id="status"),
        pytest.param(["sessions", "--status", "gone"], "no status 'gone'; there are", id="session-status"),
        pytest.param(["facts", "--type", "thought"], "no type 'thought'; there are", id="type"),
        pytest.param(["facts", "--min-importance", "7"], "a number from 0 to 1, not 7", id="importance"),
        pytest.param(["search", "x", "--kind", "dream"], "no kind 'dream'; there are", id="search-kind"),
        pytest.param(["search", "x", "--min-score", "7"], "a number from 0 to 1, not 7", id="score"),
        pytest.param(["episodes", "--kind", "dream"], "no kind 'dream'; there are", id="episode-kind"),
        pytest.param(["add-episode", "s1", "x", "--kind", "dream"], "no kind 'dream'; there are", id="new-kind"),
        pytest.param(["add-episode", "s1", "x", "--kind", "pivot", "--last", "2"], "needs --first", id="turns"),
        pytest.param(
            ["add-episode", "s1", "x", "--kind", "pivot", "--first", "2", "--last", "1"],
            "not be before it",
            id="backwards",
        ),
        pytest.param(["add-episode", "s1", "x", "--kind", "pivot", "--first", "9"], "within 1 to", id="far-turn"),
        pytest.param(["remember", " "], "a memory needs text", id="empty"),
        pytest.param(["remember", "x", "--type", "thought"], "no type 'thought'; there are", id="told-type"),
        pytest.param(["remember", "x", "--importance", "2"], "importance must be a number from 0 to 1", id="weight"),
        pytest.param(
            ["remember", "x", "--valid-from", "2025-02-01", "--valid-until", "2025-01-01"],
            "--valid-until must be later than --valid-from",
            id="ends-before-it-begins",
        ),
        pytest.param(["update", "zzzz"], "nothing to change; give a value", id="no-change"),
        pytest.param(["link", "FACT", "FACT"], "cannot be linked to itself", id="self-link"),
        pytest.param(["link", "FACT", "EDITOR", "--type", "loves"], "no link type 'loves'; there are", id="link-type"),
        pytest.param(["graph", "FACT", "--depth", "99"], "from 0 to 10, not 99", id="depth"),
        pytest.param(["regenerate", "s1", "--from", "0"], "a message number from 1 to", id="from"),
        pytest.param(["update", "OLD", "Faro"], "is superseded; update the current one", id="old-fact"),
    ],
)
def test_mistakes_are_said_in_one_line(told, words, said):
    """Exit code 2, an `error:` line that says what would work."""
    ids = {"FACT": ("location", "active"), "EDITOR": ("editor", "active"), "OLD": ("location", "superseded")}
    named = [fact(told, ids[word][0], status=ids[word][1]) if word in ids else word for word in words]
    done = told(*named, LAMINA_USER="alex")
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert said in done.err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["history", "fact_" + "0" * 32], id="fact"),
        pytest.param(["graph", "epi_" + "0" * 32], id="memory"),
        pytest.param(["arc", "s9"], id="session"),
        pytest.param(["accept", "prop_" + "0" * 32], id="proposal"),
        pytest.param(["forget", "--message", "nowhere", "--yes"], id="message"),
        pytest.param(["forget", "--fact", "nowhere", "--yes"], id="fact-to-forget"),
    ],
)
def test_what_is_not_there_is_not_found(told, words):
    """Exit code 1 and its name."""
    done = told(*words)
    assert done.code == 1
    assert "error: no " in done.err
