"""Document 001, projects: what belongs to a project, what to the person, and what is seen where."""

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import PROFILES, Conflict, InputError, Memory
from tests.documents.test_001_project import Opener

USER = "alex"
ATLAS, BOREA = "atlas", "borea"
SAID = {
    ATLAS: (
        "My name is Ann and I live in Ghent.",
        "I'm allergic to peanuts.",
        "We decided to use PostgreSQL for the backend.",
        "Our budget is 50,000 euros.",
        "The API must respond in under 200 ms.",
        "I prefer dark mode.",
    ),
    BOREA: (
        "We decided to use MySQL for the backend.",
        "Our budget is 9,000 euros.",
        "Our goal is to launch in March.",
    ),
    None: ("I decided to learn the piano.",),
}


def say(memory: Memory, project_id: str | None, *texts: str) -> None:
    for text in texts:
        turn = [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
        memory.add(turn, user_id=USER, session_id=f"of {project_id}", project_id=project_id)


@pytest.fixture
def projects(opened: Opener) -> Memory:
    """A memory of two projects, and of a session of none."""
    memory = opened("project")
    for project_id, texts in SAID.items():
        say(memory, project_id, *texts)
    memory.settle()
    return memory


def told(memory: Memory, project_id: str | None) -> set[str]:
    return {fact.text for fact in memory.facts(USER, project_id=project_id)}


PERSON = {"name: Ann", "location: Ghent", "allergic to peanuts", "prefers dark mode", "decided to learn the piano"}
OF_ATLAS = {"decided to use PostgreSQL for the backend", "budget: 50,000 euros", "The API must respond in under 200 ms"}
OF_BOREA = {"decided to use MySQL for the backend", "budget: 9,000 euros", "wants to launch in March"}


@pytest.mark.also_postgres
def test_facts_of_a_project_stay_in_it_and_those_of_the_person_do_not(projects: Memory) -> None:
    """001.22: decisions, limits and goals belong to the project; name, place, allergy and taste to the person."""
    assert told(projects, None) == PERSON
    assert told(projects, ATLAS) == PERSON | OF_ATLAS
    assert told(projects, BOREA) == PERSON | OF_BOREA
    assert told(projects, "*") == PERSON | OF_ATLAS | OF_BOREA
    assert told(projects, "nowhere") == PERSON
    assert {fact.text for fact in projects.facts(USER, session_id=f"of {BOREA}")} == OF_BOREA
    assert "9,000" in projects.user_profile(USER, project_id=BOREA).markdown
    assert "9,000" not in projects.user_profile(USER, project_id=ATLAS).markdown
    assert not projects.verify().problems


@pytest.mark.also_postgres
def test_each_project_has_its_own_value_of_a_key(projects: Memory) -> None:
    """001.22: a new value in one project leaves that of another, and comes before one that is true everywhere."""
    say(projects, ATLAS, "Our budget is 60,000 euros now.")
    say(projects, None, "My budget is 100 euros.")
    projects.settle()

    def budgets(project_id: str | None) -> list[str]:
        return [fact.value for fact in projects.facts(USER, project_id=project_id) if fact.key == "budget"]

    assert budgets(ATLAS) == ["60,000 euros"]
    assert budgets(BOREA) == ["9,000 euros"]
    assert budgets(None) == ["100 euros"]
    (current,) = [fact for fact in projects.facts(USER, project_id=ATLAS) if fact.key == "budget"]
    assert [fact.value for fact in projects.history(current.id)] == ["50,000 euros", "60,000 euros"]


@pytest.mark.also_postgres
def test_a_search_finds_nothing_of_another_project(projects: Memory) -> None:
    """001.22: messages, facts, episodes and chunks alike; unless every project is asked for."""
    query = "Which database is used for the backend, and what is the budget?"

    def found(**where: Any) -> set[str | None]:
        return {hit.project_id for hit in projects.search(query, user_id=USER, top_k=50, min_score=0, **where)}

    weights = {"weights": {"keyword": 1.0}}
    assert found(**weights) <= {None}
    assert found(project_id=ATLAS, **weights) == {ATLAS}
    assert found(project_id=BOREA, **weights) == {BOREA}
    assert found(project_id="*", **weights) == {ATLAS, BOREA}
    assert found(session_id=f"of {ATLAS}", **weights) == {ATLAS}
    assert {one.project_id for one in projects.episodes(USER, project_id=BOREA)} <= {None, BOREA}


@pytest.mark.also_postgres
def test_a_context_recalls_its_own_project(projects: Memory) -> None:
    """001.22: a new session of a project hears of the project and the person, one of none of the person alone."""

    def shown(**where: Any) -> str:
        asked = "Which database do we use, and what am I allergic to?"
        return projects.context(asked, user_id=USER, session_id="new", **where).text

    assert "PostgreSQL" in shown(project_id=ATLAS)
    assert "MySQL" not in shown(project_id=ATLAS)
    assert "PostgreSQL" not in shown()
    assert {"PostgreSQL", "MySQL"} <= set(shown(project_id="*").replace(".", " ").split())
    later = projects.context("Which database do we use?", user_id=USER, session_id=f"of {BOREA}")
    assert "MySQL" in later.text
    assert "PostgreSQL" not in later.text


def test_a_session_keeps_its_project(projects: Memory) -> None:
    """001.22: later messages need not name it; another one is refused; each project has a main session."""
    projects.add("And one more thing.", user_id=USER, session_id=f"of {ATLAS}")
    with pytest.raises(Conflict, match=r"session 'of atlas' is of project 'atlas', not of 'borea'"):
        projects.add("Hello.", user_id=USER, session_id=f"of {ATLAS}", project_id=BOREA)
    with pytest.raises(InputError, match="stands for every project"):
        projects.add("Hello.", user_id=USER, project_id="*")
    main = projects.add("Hello.", user_id=USER, project_id=ATLAS).session_id
    assert main != projects.add("Hello.", user_id=USER).session_id
    assert projects.session(main).project_id == ATLAS
    assert [one.id for one in projects.sessions(USER, project_id=ATLAS)] == sorted([main, f"of {ATLAS}"])


@pytest.mark.also_postgres
def test_what_is_told_with_a_project_belongs_to_it(projects: Memory) -> None:
    """001.22: whatever it says; and a value that is told again takes the place of the old one in that project only."""
    fact = projects.remember("User prefers tabs", user_id=USER, project_id=ATLAS)
    assert fact.project_id == ATLAS
    projects.remember("The budget is 70,000 euros", user_id=USER, project_id=ATLAS)
    assert {"prefers tabs", "budget: 70,000 euros"} <= told(projects, ATLAS)
    assert "prefers tabs" not in told(projects, BOREA)
    assert "budget: 9,000 euros" in told(projects, BOREA)


@pytest.mark.also_postgres
def test_a_project_is_forgotten(projects: Memory) -> None:
    """001.22: its sessions and facts go for good; other projects and the user's own sessions stay."""
    projects.remember("The budget is 70,000 euros", user_id=USER, project_id=ATLAS)
    receipt = projects.forget(user_id=USER, project_id=ATLAS)
    assert not receipt.empty
    assert told(projects, "*") == {"decided to learn the piano"} | OF_BOREA
    assert {one.id for one in projects.sessions(USER)} == {f"of {BOREA}", "of None"}
    left = projects.search("PostgreSQL", user_id=USER, project_id="*", top_k=50)
    assert not any("PostgreSQL" in hit.text for hit in left)
    assert projects.forget(user_id=USER, project_id=ATLAS).empty
    assert not projects.verify().problems


@pytest.mark.also_postgres
def test_projects_are_exported_and_imported(projects: Memory, opened: Opener, tmp_path: Path) -> None:
    """001.22: `projectId` in the folder; all comes back as it was, or goes to the project that is named."""
    projects.export(tmp_path / "all")
    projects.export(tmp_path / "one", project_id=BOREA)
    projects.export(tmp_path / "one.jsonl", project_id=BOREA)
    items = json.loads((tmp_path / "all/conversations.json").read_text())
    assert {item["id"]: item.get("projectId") for item in items} == {f"of {one}": one for one in SAID}
    (item,) = json.loads((tmp_path / "one/conversations.json").read_text())
    assert item["projectId"] == BOREA
    assert {one["projectId"] for one in json.loads((tmp_path / "one/long-term-memory.json").read_text())} == {BOREA}
    back = opened("project", "back")
    back.import_(tmp_path / "all")
    for project_id in (None, ATLAS, BOREA, "*"):
        assert back.facts(USER, project_id=project_id) == projects.facts(USER, project_id=project_id)
    assert {one.id: one.project_id for one in back.sessions()} == {f"of {one}": one for one in SAID}
    other = opened("project", "other")
    other.import_(tmp_path / "one.jsonl", project_id="cirrus")
    assert told(other, "cirrus") == OF_BOREA
    assert told(other, None) == set()


@pytest.mark.also_postgres
def test_a_digest_tells_of_its_project(opened: Opener) -> None:
    """001.22: a new session of a project is told of the earlier ones of that project, and of no other."""
    memory = opened(PROFILES["medium_term"])
    for project_id, texts in SAID.items():
        say(memory, project_id, *texts)
        memory.end(f"of {project_id}")
    memory.settle()
    digests = {project_id: memory.digest(USER, project_id=project_id) for project_id in SAID}
    told = {project_id: "" if found is None else found.text for project_id, found in digests.items()}
    assert ["PostgreSQL" in text for text in told.values()] == [True, False, False]
    assert ["MySQL" in text for text in told.values()] == [False, True, False]
    assert "MySQL" in memory.context(user_id=USER, session_id="new", project_id=BOREA).text
    assert "MySQL" not in memory.context(user_id=USER, session_id="new").text


def test_text_of_the_conversation_lifts_what_fits(opened: Opener) -> None:
    """001.23: `context` changes the order and the scores, and leaves nothing out."""
    memory = opened("project")
    for text in (
        "Python runs the data pipeline.",
        "Python is the snake in the zoo.",
        "Python has a conference in May.",
    ):
        memory.remember(text, user_id=USER)
    memory.settle()

    def search(context: str | None) -> list[Any]:
        return memory.search("python", user_id=USER, context=context, kinds=["fact"], explain=True)

    plain = {hit.id: hit.score for hit in search(None)}
    for context, first in (
        ("We feed the animals of the zoo: the lions, the snakes.", "Python is the snake in the zoo."),
        ("The data arrives late. The nightly pipeline is slow.", "Python runs the data pipeline."),
    ):
        hits = search(context)
        assert hits[0].text == first
        assert hits[0].parts["context"] > 0
        assert {hit.id for hit in hits} == plain.keys()
        assert all(hit.score >= plain[hit.id] for hit in hits)
    assert {hit.id: hit.score for hit in search("Nothing of this has to do with it.")}.keys() == plain.keys()


def test_tf_idf_may_stand_for_meaning(opened: Opener) -> None:
    """001.23: with semantic="tfidf", the semantic part is the cosine of TF-IDF vectors, for a query or a profile."""
    memory = opened(PROFILES["project"].but(semantic="tfidf", relevance_threshold=0.0))
    for text in ("alpha beta beta", "alpha gamma", "delta"):
        memory.remember(text, user_id=USER)
    asked: dict[str, Any] = {"user_id": USER, "weights": {"semantic": 1.0}, "kinds": ["fact"]}
    hits = {hit.text: hit.score for hit in memory.search("beta", **asked)}
    assert hits["alpha beta beta"] == pytest.approx(0.98, abs=0.01)  # a row has its category, too
    assert hits.get("alpha gamma", 0.0) == 0.0
    assert memory.search("beta", semantic="vectors", **asked) != memory.search("beta", semantic="tfidf", **asked)
    with pytest.raises(InputError, match="no semantic 'bm25'; there are"):
        memory.search("beta", semantic="bm25", **asked)
