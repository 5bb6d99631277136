"""What mem0's routes are sent to keep them busy: refused with a reason, in time that grows with its length."""

import ast

import pytest

from lamina.errors import InputError
from lamina.server.mem0.mem0_filters import matches, parse_filter
from lamina.server.mem0.python_literals import as_object
from lamina.settings import Settings
from tests.growth import growth
from tests.http_service import serving
from tests.sizes import FULL

SIZES = [size * (4 if FULL else 1) for size in (1_500, 6_000, 24_000)]
MOST = 1.3  # beyond linear for four times as much: less than 2.3 times for twice as much


@pytest.fixture(scope="module")
def client():
    with serving(Settings(database=":memory:", embedder="none"), worker=False) as service:
        yield service.client


def listed(**body):
    return "POST", "/v3/memories/", body


def found(**body):
    return "POST", "/v3/memories/search/", {"query": "tea", "filters": {"user_id": "alex"}, **body}


def told(**body):
    return "POST", "/v3/memories/add/", {"messages": "hello", "user_id": "alex", **body}


MANY = {
    "an OR of many": lambda n: listed(filters={"OR": [{"user_id": "alex"}] * n}),
    "an OR of many wrong ones": lambda n: listed(filters={"OR": [5] * n}),
    "an AND of many fields": lambda n: listed(filters={"AND": [{f"x{i}": i for i in range(n)}]}),
    "an IN of many": lambda n: listed(filters={"user_id": {"in": ["alex"] * 2 * n}}),
    "many operators": lambda n: listed(filters={"user_id": {f"x{i}": 1 for i in range(n)}}),
    "a filter of many fields": lambda n: found(filters={f"x{i}": 1 for i in range(n)}),
    "metadata to find of many fields": lambda n: found(metadata={f"x{i}": 1 for i in range(n)}),
    "a long text in a filter": lambda n: listed(
        filters={"keywords": n * "green tea with honey, lemon and mint, please"}
    ),
    "a filter that is text": lambda n: listed(filters=n * "['green tea with honey, lemon and mint, please', "),
    "many unknown fields": lambda n: listed(**{f"x{i}": 1 for i in range(n)}),
    "many unknown fields of an add": lambda n: told(**{f"x{i}": 1 for i in range(n)}),
    "many wrong categories": lambda n: found(categories=[5] * n),
    "many categories": lambda n: found(categories=["a"] * n),
    "many wrong fields": lambda n: found(fields=[{}] * n),
    "a long query": lambda n: found(query=n * "green tea with honey, lemon and mint, please"),
    "a long time": lambda n: found(reference_date=n * "2"),
    "long keywords": lambda n: found(keywords=n * "tea "),
    "a long name": lambda n: told(user_id=n * "a"),
    "a long feedback": lambda n: ("POST", "/v1/feedback/", {"memory_id": "m1", "feedback": n * "POSITIVE"}),
    "many wrong messages": lambda n: told(messages=[5] * n),
    "many messages": lambda n: told(messages=["hi"] * n),
    "metadata of many fields": lambda n: told(metadata={f"x{i}": 1 for i in range(n)}),
    "metadata of many values": lambda n: told(metadata={"x": ["green tea with honey, lemon and mint, please"] * 2 * n}),
    "a long expiration date": lambda n: told(infer=False, expiration_date=n * "2"),
    "many wrong changes": lambda n: ("PUT", "/v1/batch/", {"memories": [5] * n}),
    "many changes": lambda n: ("PUT", "/v1/batch/", {"memories": [{"memory_id": "m"}] * n}),
    "a change of many fields": lambda n: ("PUT", "/v1/batch/", {"memories": [{f"x{i}": 1 for i in range(n)}]}),
    "many to delete": lambda n: ("DELETE", "/v1/batch/", {"memories": [{"memory_id": "m"}] * n}),
    "a summary of many": lambda n: ("POST", "/v1/summary/", {"filters": {"OR": [{"user_id": "a"}] * n}}),
}


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_what_is_too_much_is_refused_briefly_and_in_linear_time(client, make):
    def sent(request):
        verb, path, body = request
        answer = client.request(verb, path, json=body)
        assert answer.status_code in {400, 413}, answer.text[:500]
        assert 0 < len(answer.json()["detail"]) < 1000
        assert len(answer.content) < 20_000

    assert growth(sent, make, SIZES, most=MOST) <= MOST


ODD = {
    "strings": lambda n: "{'a': '" + n * "x" + "'}",
    "escapes": lambda n: "{'a': '" + n // 2 * "\\'",
    "quotes": lambda n: n * "'",
    "open strings": lambda n: n // 3 * "'\\\"",
    "lists": lambda n: n * "[",
    "objects": lambda n: n // 5 * "{'a':",
    "spaces": lambda n: n * " " + "x",
    "spaces within": lambda n: "{" + n * " ",
    "words": lambda n: n * "a",
    "signs": lambda n: n * "-",
    "sums": lambda n: n // 2 * "1+",
    "digits": lambda n: "{'a': " + n * "9" + "}",
    "names": lambda n: "{'a': " + n // 10 * "\\N{DIGIT}",
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_objects_as_text_are_read_in_linear_time(make):
    def read(text):
        for _ in range(4):
            try:
                as_object(text)
            except InputError as error:
                assert len(str(error)) < 200  # noqa: PT017 - some are read, some refused

    assert growth(read, make, SIZES, most=MOST) <= MOST


@pytest.mark.parametrize(
    "given",
    [
        {"user_id": "alex"},
        {"AND": [{"user_id": "alex"}, {"metadata": {"n": 3, "x": -1.5e3, "yes": True, "no": False, "none": None}}]},
        {"user_id": "it's", "a": "both ' and \"", "b": "\\n\n\t\r\0\x7f\xa0\u2028", "c": "\U0001f600é", "d": "\\"},
        {"a": [], "b": {}, "c": [[{}], ["x"]]},
    ],
)
def test_objects_are_read_as_python_shows_them(given):
    assert ast.literal_eval(str(given)) == given
    assert as_object(str(given)) == given


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 1 + 1}",
        "{'a': (1, 2)}",
        "{'a': b'x'}",
        "{'a': '\\q'}",
        "{'a': \\'}",
        "{'a'}",
        "{'a': 'x' 'y'}",
        "'a'",
        "{'a':",
    ],
)
def test_nothing_else_is_read(text):
    with pytest.raises(InputError, match="filters are an object"):
        as_object(text)


def test_a_filter_as_large_as_it_may_be_is_applied():
    """Two thousand fields and values; one more is refused."""
    many = {"OR": [{"user_id": "x"}] * 997 + [{"user_id": {"in": ["alex"]}}]}
    assert matches(parse_filter(many), {"user_id": "alex"})
    with pytest.raises(InputError, match="up to 2000 fields and values"):
        parse_filter({**many, "agent_id": "a", "run_id": "r"})
