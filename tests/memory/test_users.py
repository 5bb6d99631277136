"""Whose memory is meant where no user is named."""

import json
from collections.abc import Callable

import pytest

from lamina import InputError, Memory
from lamina.integrations.langchain import LaminaChatMessageHistory, LaminaRetriever
from tests.places import Place

Call = Callable[[Memory], object]

CALLS = {
    "add": lambda memory: memory.add("hello"),
    "context": lambda memory: memory.context("hello"),
    "search": lambda memory: memory.search("hello"),
    "search_explained": lambda memory: memory.search_explained("hello"),
    "forget": lambda memory: memory.forget(text="hello"),
    "remember": lambda memory: memory.remember("User lives in Ghent"),
    "remember_all": lambda memory: memory.remember_all("User lives in Ghent"),
    "is_statement": lambda memory: memory.is_statement("User lives in Ghent"),
    "facts": lambda memory: memory.facts(),
    "user_profile": lambda memory: memory.user_profile(),
    "episodes": lambda memory: memory.episodes(),
    "digest": lambda memory: memory.digest(),
    "fading": lambda memory: memory.fading(),
    "consistency": lambda memory: memory.consistency(),
    "resolve_user": lambda memory: memory.resolve_user(),
    "langchain history": lambda memory: LaminaChatMessageHistory("s", memory).add_user_message("hello"),
    "langchain retriever": lambda memory: LaminaRetriever(memory=memory).invoke("hello"),
}
calls = pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in CALLS.items()])


@calls
def test_in_a_memory_without_other_users_it_is_the_default_user(tmp_path, call: Call) -> None:
    """Every verb works without a user, in an empty memory and in one that has the default user only."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        call(memory)
        memory.add("My cat is called Miso.")
        call(memory)
        assert memory.users() == ["default"]


@calls
def test_among_other_users_it_is_an_error_that_says_what_to_give(tmp_path, call: Call) -> None:
    """Three users are named, and nothing is stored."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        for user in ("ana", "bo", "cy", "dee"):
            memory.add("hello", user_id=user)
        with pytest.raises(InputError, match=r"give user_id\. There are the users 'ana', 'bo', 'cy', …"):
            call(memory)
        assert memory.users() == ["ana", "bo", "cy", "dee"]


@pytest.mark.also_postgres
def test_one_other_user_is_enough_and_a_given_default_is_an_id_like_any(place: Place) -> None:
    """On every store, whether the other one has a session or only a fact; another tenant does not count."""
    with Memory(place(), worker=False) as memory, Memory(place(), worker=False, tenant="other") as other:
        memory.add("hello")
        other.remember("User lives in Ghent", user_id="zoe")
        assert memory.resolve_user() == "default"
        memory.remember("User lives in Ghent", user_id="zoe")
        with pytest.raises(InputError, match="the users 'zoe';"):
            memory.add("hello")
        assert memory.add("hello", user_id="default").user_id == "default"
        memory.forget(user_id="zoe")
        assert memory.add("again").user_id == "default"


def test_users_are_found_from_one_to_the_next(tmp_path) -> None:
    """However much there is of each, and in whichever table; by pages too."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        for number in range(30):
            memory.add("hello", user_id="ana", session_id=f"s{number}")
            memory.remember(f"Note number {number} on birds", user_id="cy")
        memory.add("hello", user_id="bo")
        assert memory.users() == ["ana", "bo", "cy"]
        with pytest.raises(InputError, match="'ana', 'bo', 'cy';"):
            memory.facts()


def test_the_command_line_takes_the_user_of_the_settings_as_given(lamina) -> None:
    """Without one it says what to give; a search for words to forget says whose memory it was."""
    assert lamina("add", "I live in Ghent.", "--user", "ana").returncode == 0
    refused = lamina("facts")
    assert refused.returncode == 2
    assert "--user" in refused.stderr
    assert "'ana'" in refused.stderr
    assert "Ghent" in lamina("facts", LAMINA_USER="ana").stdout
    assert "there is no user 'default'; there are 'ana'" in lamina("facts", "--user", "default").stderr
    assert "--user" in lamina("remember", "User likes jazz").stderr
    nothing = lamina("forget", "--text", "zebra", "--user", "ana", "--yes")
    assert "nothing in the memory of user 'ana' has this text" in nothing.stdout
    shown = json.loads(lamina("forget", "--text", "zebra", "--user", "ana", "--yes", "--json").stdout)
    assert shown["nothing"] == "nothing in the memory of user 'ana' has this text"


def test_a_forgetting_of_nothing_says_where_it_looked(tmp_path) -> None:
    """For words of a user or a session, for messages that are gone, for numbers beyond the end, and for a user."""
    with Memory(tmp_path / "chat.db", worker=False) as memory:
        first = memory.add(["One.", "Two."], user_id="ana", session_id="s1").ids[0]
        in_session = memory.forget(text="zebra", session_id="s1").nothing
        assert in_session == "nothing in session 's1' of 'ana' has this text"
        assert memory.forget(message_id=first).nothing is None
        assert memory.forget(message_id=first).nothing == "these messages are forgotten already"
        beyond = memory.forget(session_id="s1", first=7, last=9).nothing
        assert beyond == "session 's1' has 2 messages; of 7 to 9, none is left to forget"
        assert memory.forget(user_id="nobody").nothing == "there is nothing of user 'nobody'"
        assert memory.verify().ok


def test_a_forgetting_for_a_user_who_is_not_there_says_so(tmp_path, lamina) -> None:
    """For words and for a project: a misspelt name must not look like a memory without these words."""
    with Memory(tmp_path / "empty.db", worker=False) as memory:
        assert memory.forget(text="zebra", user_id="gai").nothing == "nothing in the memory of user 'gai' has this text"
    assert lamina("add", "I like zebras.", "--user", "gia").returncode == 0
    with Memory(tmp_path / "lamina.db", worker=False) as memory:
        assert memory.forget(user_id="gai", text="zebra").nothing == "there is no user 'gai'"
        assert memory.forget(user_id="gai", project_id="zoo").nothing == "there is no user 'gai'"
        assert "'gia'" in str(memory.forget(user_id="gia", project_id="zoo").nothing)
    for words in (["--text", "zebra"], ["--project", "zoo"], ["--text", "zebra", "--dry-run"]):
        refused = lamina("forget", *words, "--user", "gai", "--yes")
        assert refused.returncode == 1
        assert "there is no user 'gai'; there are 'gia'" in refused.stderr
    assert lamina("forget", "--text", "zebra", "--user", "gia", "--yes").returncode == 0
