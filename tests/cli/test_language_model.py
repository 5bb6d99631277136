"""The command line with a language model from its settings."""

import json

import pytest

from lamina.testing.llm_server import Fault, LlmServer

SECRET = "sk-never-to-be-seen"


@pytest.fixture
def server():
    with LlmServer() as running:
        yield running


@pytest.fixture
def told(cli, server, monkeypatch):
    """The command line, told of the server by variables."""
    monkeypatch.setenv("LAMINA_LLM_BASE_URL", server.url)
    monkeypatch.setenv("LAMINA_LLM_MODEL", "test-model")
    monkeypatch.setenv("LAMINA_LLM_API_KEY", SECRET)
    monkeypatch.setenv("LAMINA_LLM_RETRIES", "0")
    return cli


def test_facts_and_summaries_by_the_model(told, server, monkeypatch):
    """`add` and `settle` talk to it with the key; what comes out says so."""
    monkeypatch.setenv("LAMINA_PROFILE", "assistant")
    assert told("add", "My name is Alex and I prefer Python.").code == 0
    assert told("settle").code == 0
    facts = json.loads(told("facts", "--json").stdout)
    assert {fact["model"] for fact in facts} == {"test-model"}
    assert {fact["value"] for fact in facts} == {"Alex", "Python"}
    assert server.asked()[0].headers["authorization"] == f"Bearer {SECRET}"


def test_config_shows_no_key(told):
    done = told("config", "--json")
    assert json.loads(done.stdout)["llm_api_key"] == "***"
    assert SECRET not in done.stdout


def test_a_server_that_is_down_costs_nothing_but_quality(told, server):
    """The offline models go on; the key is in no message."""
    server.brain = lambda asked: Fault(status=500, body=f"no, {SECRET}")
    told("add", "My name is Alex.")
    done = told("-v", "settle")
    assert done.code == 0
    assert SECRET not in done.stdout + done.stderr
    assert json.loads(told("facts", "--json").stdout)[0]["model"] == "offline-2"


def test_vectors_from_an_endpoint(told, server, monkeypatch):
    """The address of an embedder, with the same key since it is the same server."""
    monkeypatch.setenv("LAMINA_EMBEDDER", server.url)
    monkeypatch.setenv("LAMINA_EMBEDDER_MODEL", "emb")
    told("add", "The staging server is called heron.")
    told("settle")
    assert "heron" in told("search", "staging server").stdout
    assert {asked.headers["authorization"] for asked in server.asked("embeddings")} == {f"Bearer {SECRET}"}


def test_what_models_have_cost_is_shown(told, monkeypatch):
    """By day, purpose and model, with the prices of the settings."""
    monkeypatch.setenv("LAMINA_LLM_PRICE_INPUT", "1000000")
    assert told("costs", "--json").code == 2  # there is no memory yet
    told("add", "My name is Alex.")
    assert told("settle").code == 0
    (first, *_) = json.loads(told("costs", "--json").stdout)
    shown = told("costs").out
    assert shown.startswith("day purpose model calls tokens in tokens out cost")
    assert f"{first['day']} {first['purpose']} test-model {first['calls']} {first['tokens_in']:,}" in shown
    assert f"{first['cost']:,.4f}" in shown
