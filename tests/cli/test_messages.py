"""Errors that a stranger understands: what is wrong in the words that were typed, and what would work."""

import pytest

FACT = "fact_0123456789abcdef0123456789abcdef"
EPISODE = "ep_0123456789abcdef0123456789abcdef"


@pytest.fixture
def full(cli):
    """A memory of two users."""
    cli("add", "I live in Ghent.", "-u", "mara", "-s", "s1")
    cli("add", "I live in Porto.", "-u", "ines", "-s", "s2")
    return cli


@pytest.mark.parametrize(
    "words",
    [
        ["search", "Ghent"], ["facts"], ["sessions"], ["episodes"], ["digest"], ["user-profile"], ["consistency"],
        ["stats"], ["consolidate"], ["why", "location"], ["graph", "location"], ["facts", "--json"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_unknown_user_is_named_with_those_there_are(full, words):
    done = full(*words, "-u", "mrara")
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr == "error: there is no user 'mrara'; there are 'ines', 'mara'\n"


def test_a_context_for_somebody_new_is_empty_with_a_note(full):
    """A chat begins with a context: that is no error."""
    done = full("context", "hello", "-u", "mrara")
    assert done.code == 0
    assert "note: there is no user 'mrara'; there are 'ines', 'mara'" in done.err


def test_a_user_without_facts_is_not_unknown(full):
    full("add", "Hello there.", "-u", "otto", "-s", "s3")
    assert full("facts", "-u", "otto").out == "no facts"


def test_only_three_of_many_users_are_named(cli):
    for number in range(5):
        cli("add", "Hello.", "-u", f"user{number}")
    assert cli("facts", "-u", "x").err.endswith("there are 'user0', 'user1', 'user2', …")


@pytest.mark.parametrize("words", [["search", "Ghent"], ["facts"], ["episodes"]], ids=" ".join)
def test_a_session_that_is_not_there_or_not_theirs(full, words):
    assert full(*words, "-u", "mara", "-s", "s9").err == "error: no session 's9'; `lamina sessions` lists them"
    assert full(*words, "-u", "mara", "-s", "s2").err == "error: session 's2' is of user 'ines', not of 'mara'"


@pytest.mark.parametrize("query", ["", "  "], ids=["empty", "spaces"])
def test_an_empty_query_is_asked_for(full, query):
    done = full("search", query, "-u", "mara")
    assert done.code == 2
    assert done.err.startswith("error: the query is empty; say what to look for")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["forget", "--message", "m9", "--yes"], "no message 'm9'; `lamina messages SESSION_ID --json` shows the ids"),
        (["keys", "revoke", "k9"], "no key 'k9'; `lamina keys list` lists them"),
        (["keys", "rotate", "k9"], "no key 'k9'; `lamina keys list` lists them"),
        (["why", FACT], f"no fact '{FACT}'; `lamina facts` lists them"),
        (["update", FACT, "x"], f"no fact '{FACT}'; `lamina facts` lists them"),
        (["forget", "--fact", FACT, "--yes"], f"no fact '{FACT}'; `lamina facts` lists them"),
        (["graph", EPISODE], f"no memory '{EPISODE}'; `lamina facts` and `lamina episodes` list them"),
        (["zoom", f"sum_{FACT[5:]}"], f"no summary 'sum_{FACT[5:]}'; `lamina summaries SESSION_ID` lists them"),
        (["accept", f"prop_{FACT[5:]}"], f"no proposal 'prop_{FACT[5:]}'; `lamina proposals` lists them"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_what_is_not_there_comes_with_what_lists_it(full, words, hint):
    done = full(*words)
    assert (done.code, done.err) == (1, f"error: {hint}")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["search", "x", "-s", ""], "--session must be a string of 1 to 256 characters, not ''"),
        (["search", "x", "--at", "noon"], "--at 'noon' is no time;"),
        (["context", "x", "--budget", "-1"], "--budget must be a whole number of tokens above 0, not -1"),
        (["episodes", "--min-significance", "2"], "--min-significance must be a number from 0 to 1, not 2.0"),
        (["regenerate", "s1", "--from", "9"], "--from must be a message number from 1 to 1, not 9"),
        (["add", "x", "-s", "s2"], "session 's2' is taken; choose another --session"),
        (["forget", "-s", "s1", "--first", "1", "--yes"], "--first and --last are given together, with --session"),
        (["context", "x", "--profile", "p"], "no profile 'p'; there are assistant, chunked, default"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_errors_name_options_as_they_are_typed(full, words, text):
    done = full(*words, LAMINA_USER="mara")
    assert done.code in {1, 2}
    assert done.err.startswith(f"error: {text}")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["search", "where", "do", "I", "live"], "'do I live' is left over; put quotes around QUERY if it has spaces"),
        (["add", "hello", "world"], "'world' is left over; put quotes around TEXT if it has spaces"),
        (["facts", "mara"], "'mara' is left over; it takes only options, such as --user NAME"),
        (["messages", "s1", "3"], "'3' is left over; it takes only SESSION_ID"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_words_too_many(cli, words, text):
    done = cli(*words)
    assert (done.code, done.err) == (2, f"error: too many words: {text}; see `lamina {words[0]} --help`")


def test_files_that_cannot_be_read(cli, tmp_path):
    """Of messages and of settings: the same plain words, without codes of the system."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name, reason in {
        "none": "there is no file none",
        "no/where": "there is no folder no",
        "folder": "folder is a folder, not a file",
        "bytes": "bytes is not text in UTF-8; save it as UTF-8",
    }.items():
        assert cli("add", "--file", name).err == f"error: {reason}"
        assert cli("--config", name, "facts").err == f"error: settings are wrong: - {reason}"
    assert not (tmp_path / "lamina.db").exists()


def test_a_file_that_has_no_messages(cli, tmp_path):
    (tmp_path / "talk.txt").write_text("hello\n")
    (tmp_path / "empty.jsonl").touch()
    assert cli("add", "--file", "talk.txt").err.startswith(
        "error: talk.txt, line 1 is not JSON; each line is a message"
    )
    assert cli("add", "--file", "empty.jsonl").err.startswith("error: empty.jsonl has no messages")
    assert cli("add", "hi", "--file", "talk.txt").err.startswith("error: give a text or --file, not both")
    assert not (tmp_path / "lamina.db").exists()


def test_settings_are_reported_under_the_name_of_their_file(cli, tmp_path):
    (tmp_path / "odd.toml").write_text('llm_seconds = "x"\nusr = "mara"\n')
    err = cli("--config", "odd.toml", "facts").err
    assert "odd.toml: llm_seconds: takes a number above 0, not 'x'" in err
    assert "odd.toml: usr is no setting; did you mean user?" in err
    (tmp_path / "odd.toml").write_text("a b")
    assert "odd.toml is not TOML: Expected '=' after a key" in cli("--config", "odd.toml", "facts").err


def test_a_path_where_no_memory_can_be(cli, tmp_path):
    (tmp_path / "folder").mkdir()
    expected = "error: folder is a folder, not a file; give the path of a file in it, such as folder/lamina.db"
    assert cli("--db", "folder", "facts").err == expected
    assert cli("--db", "sqlite:///folder", "add", "x").err == expected
    missing = cli("--db", "no/where.db", "add", "x")
    assert missing.err == "error: no/where.db cannot be made: there is no folder no; make it, or give another path"
