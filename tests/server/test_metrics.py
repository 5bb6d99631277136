"""What `/metrics` tells of folds and of language models."""

import re

import pytest

from lamina.profiles import profile_named
from lamina.settings import Settings
from lamina.testing.llm_server import LlmServer
from tests.http_service import serving

PROFILE = profile_named("project").but(max_recent_messages=4, chunk_size=4)


def figures(text, name):
    """The values of a metric by its labels."""
    return {labels: float(value) for labels, value in re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)}


def test_folds_and_what_they_cost(tmp_path):
    with LlmServer() as server:
        settings = Settings(
            database=str(tmp_path / "chat.db"), profile=PROFILE, llm_base_url=server.url, llm_model="small",
            llm_use="summaries", llm_price_input=1_000_000.0,
        )  # fmt: skip
        with serving(settings, worker=False) as service:
            said = [f"The harbour number {n} opens at dawn and the pilots wait outside." for n in range(9)]
            service.post("/v1/sessions/s1/messages", json={"user_id": "alex", "messages": said})
            service.post("/v1/settle", json={})
            shown = service.get("/metrics").text
            (cost,) = service.get("/v1/costs").json()["items"]
    assert figures(shown, "lamina_fold_seconds_count") == {'layer="1"': 2.0}
    tokens = figures(shown, "lamina_fold_tokens_total")
    assert tokens['layer="1",side="read"'] > tokens['layer="1",side="written"'] > 0
    assert figures(shown, "lamina_fold_fallbacks_total") == {"": 0.0}
    assert figures(shown, "lamina_llm_calls_total") == {'model="small",purpose="summary"': 2.0}
    assert figures(shown, "lamina_llm_cost_total") == {'model="small",purpose="summary"': cost["cost"]}
    assert figures(shown, "lamina_llm_tokens_total")['model="small",purpose="summary",side="read"'] == cost["tokens_in"]
    assert "alex" not in shown


@pytest.mark.parametrize(
    ("role", "tenant", "whole"),
    [("admin", "default", True), ("read", "default", False), ("write", "default", False), ("admin", "acme", False)],
)
def test_only_the_operator_sees_the_figures_of_all_tenants(service, role, tenant, whole):
    """Others see what is due and what was spent in their own."""
    said = [f"The harbour number {n} opens at dawn and the pilots wait outside." for n in range(60)]
    busy = service.with_key(service.key("write", tenant="busy"))
    assert busy.post("/v1/sessions/s1/messages", json={"messages": said}).status_code == 201
    shown = service.with_key(service.key(role, tenant=tenant)).get("/metrics").text
    assert (sum(figures(shown, "lamina_backlog_sessions").values()) > 0) is whole
    assert ("add_messages" in shown) is whole
