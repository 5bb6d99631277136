"""Settings from environment and TOML, and every mistake at once."""

import pytest

from lamina import PROFILES, ConfigError, Llm, Price
from lamina.settings import DOCUMENT_KNOBS, load_settings


def test_defaults():
    """Without anything given, the file is ./lamina.db and its own profile is used."""
    settings = load_settings({})
    assert (settings.database, settings.profile, settings.durable) == ("lamina.db", None, False)


def test_environment_wins_over_toml(tmp_path):
    """A variable overrides the same key of the file."""
    file = tmp_path / "lamina.toml"
    file.write_text('database = "a.db"\ntenant = "t"\nprofile = "project"\n[profile_values]\nchunk_size = 7\n')
    settings = load_settings({"LAMINA_DATABASE": "b.db", "LAMINA_PROFILE_CHUNK_SIZE": "8"}, file)
    assert settings.database == "b.db"
    assert settings.tenant == "t"
    assert settings.profile == PROFILES["project"].but(chunk_size=8)


def test_the_file_may_be_named_by_a_variable(tmp_path):
    """In whichever folder it is."""
    (tmp_path / "own.toml").write_text('tenant = "acme"\n')
    assert load_settings({"LAMINA_CONFIG": str(tmp_path / "own.toml")}).tenant == "acme"


@pytest.mark.parametrize(
    ("given", "database"),
    [
        pytest.param({"DATABASE_URL": "postgresql://db/x"}, "postgresql://db/x", id="postgres"),
        pytest.param({"DATABASE_URL": "sqlite:///x.db"}, "sqlite:///x.db", id="sqlite"),
        pytest.param({"DATABASE_URL": "mysql://db/x"}, "lamina.db", id="of-another-program"),
        pytest.param({"DATABASE_URL": "sqlite:///x.db", "LAMINA_DATABASE": "own.db"}, "own.db", id="ours-first"),
    ],
)
def test_the_database_of_the_surroundings_is_taken_if_it_can_be(given, database):
    """As hosts name it for all programs; our own name goes before it."""
    assert load_settings(given).database == database


@pytest.mark.parametrize(
    ("text", "truth"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("no", False), ("OFF", False)]
)
def test_a_truth_may_be_said_in_many_words(text, truth):
    """Of a setting; in a profile it is true or false."""
    assert load_settings({"LAMINA_DURABLE": text}).durable is truth
    profile = load_settings({"LAMINA_PROFILE_EPISODES": str(truth)}).profile
    assert profile is not None
    assert profile.episodes is truth


def test_every_problem_is_reported_at_once(tmp_path):
    """Five mistakes give one error with five lines, each saying what would work."""
    file = tmp_path / "lamina.toml"
    file.write_text('durable = "perhaps"\nbudjet = 3\n')
    wrong = {"LAMINA_PROFILE": "nope", "LAMINA_TENNANT": "x", "LAMINA_LOG_LEVEL": "loud", "LAMINA_PROFILE_CAP": "-3"}
    with pytest.raises(ConfigError) as caught:
        load_settings(wrong, file)
    text = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 6
    for words in (
        "true or false",
        "budjet is no setting",
        "there are",
        "did you mean LAMINA_TENANT",
        "is one of",
        "at least 0",
    ):
        assert words in text


def test_unreadable_file_is_a_problem(tmp_path):
    """A file that is named but not there, or no TOML, is said so."""
    with pytest.raises(ConfigError, match=r"nothing\.toml"):
        load_settings({}, tmp_path / "nothing.toml")
    (tmp_path / "bad.toml").write_text("a = [")
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        load_settings({}, tmp_path / "bad.toml")


def test_the_seven_knobs_of_document_003():
    """003.11: its seven settings work by their own names, and mean its profile when no other is named."""
    given = {
        "MEMORY_K_RAW_TURNS": "5",
        "MEMORY_SUMMARY_TOKEN_CAP": "400",
        "MEMORY_PROMPT_TOKEN_BUDGET": "2500",
        "MEMORY_CHUNK_SUMMARIZE_THRESHOLD": "5000",
        "MEMORY_SUMMARIZER_MODEL": "tiny",
        "PROMPT_ID_SUMMARY_GLOBAL": "pmpt_1",
        "PROMPT_VERSION_SUMMARY_GLOBAL": "7",
    }
    assert set(given) == set(DOCUMENT_KNOBS)
    profile = load_settings(given).profile
    assert profile is not None
    assert profile.name == "chunked"
    assert (profile.schedule.keep, profile.window.size, profile.cap, profile.total_cap) == (5, 5, 400, 400)  # type: ignore[union-attr]
    assert (profile.budget, profile.schedule.tokens, profile.summarizer_model) == (2500, 5000, "tiny")  # type: ignore[union-attr]
    assert profile.hosted is not None
    assert (profile.hosted.id, profile.hosted.version) == ("pmpt_1", "7")


def test_a_knob_that_the_profile_lacks_is_a_problem():
    """A knob of another profile is refused with the reason."""
    with pytest.raises(ConfigError, match="chunk_size"):
        load_settings({"LAMINA_PROFILE": "chunked", "LAMINA_PROFILE_CHUNK_SIZE": "5"})


def test_recall_has_settings(tmp_path):
    """What makes vectors, where the weights of MiniLM are, how much is kept at hand; by variable and by file."""
    assert (load_settings({}).embedder, load_settings({}).minilm_path, load_settings({}).cache_mb) == (
        "auto",
        None,
        256,
    )
    file = tmp_path / "lamina.toml"
    file.write_text(f'embedder = "minilm"\nminilm_path = "{tmp_path}"\ncache_mb = 64\n')
    given = {"LAMINA_EMBEDDER": "MiniLM", "LAMINA_MINILM_PATH": str(tmp_path), "LAMINA_CACHE_MB": "64"}
    for settings in (load_settings({}, file), load_settings(given)):
        assert (settings.embedder, settings.minilm_path, settings.cache_mb) == ("minilm", str(tmp_path), 64)


def test_mistakes_about_recall_are_reported_at_once(tmp_path):
    """Each says what would do."""
    given = {"LAMINA_EMBEDDER": "glove", "LAMINA_MINILM_PATH": str(tmp_path / "none"), "LAMINA_CACHE_MB": "0"}
    with pytest.raises(ConfigError) as caught:
        load_settings(given)
    assert list(caught.value.problems) == [
        "LAMINA_CACHE_MB: takes a whole number above 0, not '0'",
        "LAMINA_EMBEDDER: is one of auto, static, minilm, none, not 'glove'",
        f"LAMINA_MINILM_PATH: there is no {tmp_path / 'none'}",
    ]


KEEPING = [
    pytest.param("conflicts", "flag", "flag", id="conflicts"),
    pytest.param("keep_message_days", "90", 90, id="keep-messages"),
    pytest.param("keep_message_days", "none", None, id="keep-messages-always"),
    pytest.param("drop_archived_days", "365.5", 365.5, id="drop-archived"),
    pytest.param("consolidate_hours", "None", None, id="consolidate-on-demand"),
    pytest.param("max_episodes", "20", 20, id="episodes"),
    pytest.param("half_life_days", "14", 14, id="half-life"),
    pytest.param("categories", "identity, constraint", ("identity", "constraint"), id="categories"),
    pytest.param("never_archived", "none", (), id="nothing-durable"),
    pytest.param("recency_weight", "0.2", 0.2, id="weight"),
    pytest.param("episode_distance", "none", None, id="any-distance"),
    pytest.param("archive_days", "90", 90, id="archive"),
]


@pytest.mark.parametrize(("knob", "text", "value"), KEEPING)
def test_what_is_kept_and_how_long_can_be_set(tmp_path, knob, text, value):
    """By variable and by file alike; `none` takes a limit away, a list is words with commas."""
    file = tmp_path / "lamina.toml"
    file.write_text(f'[profile_values]\n{knob} = "{text}"\n')
    for settings in (load_settings({f"LAMINA_PROFILE_{knob.upper()}": text}), load_settings({}, file)):
        assert settings.profile == PROFILES["default"].but(**{knob: value})


def test_a_list_in_the_file_is_a_list(tmp_path):
    """As TOML writes it."""
    file = tmp_path / "lamina.toml"
    file.write_text('[profile_values]\ncategories = ["identity", "goal"]\n')
    assert load_settings({}, file).profile == PROFILES["default"].but(categories=("identity", "goal"))


@pytest.mark.parametrize(
    ("knob", "text", "said"),
    [
        pytest.param("conflicts", "loudest", "takes newest or confidence or flag, not 'loudest'", id="word"),
        pytest.param("keep_message_days", "soon", "a number of at least 0 or nothing, not 'soon'", id="number"),
        pytest.param("max_episodes", "none", "a whole number of at least 0, not None", id="no-limit"),
        pytest.param("keep_mesage_days", "3", "did you mean keep_message_days", id="name"),
    ],
)
def test_a_bad_value_of_a_profile_says_what_would_do(knob, text, said):
    """By name and kind."""
    with pytest.raises(ConfigError, match=said):
        load_settings({f"LAMINA_PROFILE_{knob.upper()}": text})


def test_a_language_model_by_settings(tmp_path):
    """Address or model make one; everything about it can be set, and keys are shown to nobody."""
    assert load_settings({}).llm() is None
    assert load_settings({"LAMINA_LLM_API_KEY": "sk-1"}).llm() is None
    file = tmp_path / "lamina.toml"
    file.write_text(
        'llm_model = "m"\nllm_use = ["facts", "summaries"]\nllm_price_input = 0.5\nllm_budget_per_day = 2\n'
    )
    given = {
        "LAMINA_LLM_BASE_URL": "http://localhost:11434/v1",
        "LAMINA_LLM_API_KEY": "sk-secret",
        "LAMINA_LLM_BUDGET_PER_MONTH": "30",
        "LAMINA_LLM_REQUESTS_PER_MINUTE": "60",
        "LAMINA_LLM_TOKENS_PER_MINUTE": "90000",
        "LAMINA_LLM_CONCURRENCY": "2",
        "LAMINA_LLM_RETRIES": "0",
        "LAMINA_LLM_SECONDS": "30",
        "LAMINA_LLM_THINKING_TOKENS": "2000",
        "LAMINA_LLM_PRICE_OUTPUT": "1.5",
    }
    settings = load_settings(given, file)
    llm = settings.llm()
    assert llm == Llm(
        base_url="http://localhost:11434/v1",
        model="m",
        api_key="sk-secret",
        use=("facts", "summaries"),
        prices={"*": Price(input=0.5, output=1.5)},
        budget_per_day=2.0,
        budget_per_month=30.0,
        requests_per_minute=60,
        tokens_per_minute=90_000,
        concurrency=2,
        retries=0,
        total_seconds=30.0,
        thinking_tokens=2000,
    )
    for text in (repr(settings), repr(llm), str(settings.public())):
        assert "secret" not in text
    assert settings.public()["llm_api_key"] == "***"
    assert load_settings({}).public()["llm_api_key"] is None


def test_an_embedder_by_its_address():
    """With a model and a size; the key of the language model goes to the same address only."""
    given = {
        "LAMINA_LLM_BASE_URL": "http://a/v1",
        "LAMINA_LLM_API_KEY": "sk-1",
        "LAMINA_EMBEDDER": "http://a/v1",
        "LAMINA_EMBEDDER_MODEL": "e",
        "LAMINA_EMBEDDER_DIMENSIONS": "768",
    }
    same, other, own = (
        load_settings({**given, **more}).vectors()
        for more in ({}, {"LAMINA_EMBEDDER": "http://b/v1"}, {"LAMINA_EMBEDDER_API_KEY": "sk-2"})
    )
    assert isinstance(same, Llm)
    assert isinstance(other, Llm)
    assert isinstance(own, Llm)
    assert (same.model, same.dimensions, same.api_key) == ("e", 768, "sk-1")
    assert (other.api_key, own.api_key) == (None, "sk-2")
    assert load_settings({"LAMINA_EMBEDDER": "none"}).vectors() == "none"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"LAMINA_LLM_BASE_URL": "localhost"}, "base_url must be like https://host/v1"),
        ({"LAMINA_LLM_USE": "poems"}, "takes some of summaries, facts, episodes"),
        ({"LAMINA_LLM_MODEL": "m", "LAMINA_LLM_BUDGET_PER_DAY": "1"}, "a budget needs prices"),
        ({"LAMINA_LLM_RETRIES": "-1"}, "takes a whole number"),
        ({"LAMINA_LLM_PRICE_INPUT": "free"}, "takes a number, 0 or above"),
        ({"LAMINA_LLM_PRICE_INPUT": "-1"}, "takes a number, 0 or above"),
        ({"LAMINA_LLM_SECONDS": "soon"}, "takes a number above 0"),
        ({"LAMINA_LLM_MODEL": " "}, "takes text"),
        ({"LAMINA_EMBEDDER": "http://a/v1"}, "set embedder_model too"),
        ({"LAMINA_EMBEDDER": "stattic"}, "is one of auto, static"),
    ],
)
def test_wrong_models_are_reported(given, problem):
    with pytest.raises(ConfigError, match=problem):
        load_settings(given)
