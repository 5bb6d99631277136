"""One codec: a fact is the same fact in the export, on the command line, over REST, in an event and for MCP."""

import json

from lamina import Memory
from lamina.cli.display import as_json
from lamina.formats.json_lines import record, value
from lamina.server.mcp import results
from lamina.values.codec import READABLE, decode, encode
from lamina.values.fact import Fact
from tests.server.rest.test_routes import good, tell


def test_a_fact_reads_back_the_same_from_every_interface(service):
    tell(service)
    rest = good(service.get("/v1/users/alex/facts"))["items"]
    with Memory(service.settings.database, worker=False) as memory:
        fact = memory.facts("alex")[0]
        profile = memory.user_profile("alex").to_dict()
    assert decode(Fact, rest[0], "REST") == fact
    assert decode(Fact, json.loads(as_json(fact)), "the command line") == fact
    assert value(json.loads(json.dumps(record(fact)))) == fact
    assert "text" not in record(fact)
    encoded = encode(fact, READABLE)
    assert rest[0]["text"] == encoded["text"] == fact.text
    shown = results.fact(fact)
    assert {name: shown[name] for name in shown.keys() & encoded.keys()}.items() <= encoded.items()
    assert profile["categories"][fact.category][0].items() <= encoded.items()
