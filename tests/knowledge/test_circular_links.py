"""Chains that must come to an end, but go in a circle: refused when they come in, reported when they are there."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lamina import InputError, Memory
from lamina.log.records import record_hash
from tests.random_memories import opened, records

SAID = [f"I have {number} lamps in the hall and I live in Porto since March {number}." for number in range(1, 30)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> list[dict[str, Any]]:
    """An export with facts, summaries, episodes and links, of which some come after others."""
    memory = opened(tmp_path_factory.mktemp("exported") / "a.db")
    memory.add(SAID, user_id="ann", session_id="s")
    memory.settle()
    first = memory.remember("We ship on Fridays", user_id="ann")
    second = memory.update(first.id, "We ship on Mondays")
    third = memory.remember("Ships are blue", user_id="ann")
    memory.link(third.id, second.id, "derived_from")
    for title in ("Found it", "Lost it"):
        memory.add_episode("s", "breakthrough", title)
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    memory.export(path)
    memory.close()
    return records(path)


def of(kind: str, found: list[dict[str, Any]], **having: Any) -> list[dict[str, Any]]:
    return [one for one in found if one["type"] == kind and all(one[name] == value for name, value in having.items())]


def replaces_itself(found: list[dict[str, Any]]) -> None:
    new = next(one for one in of("fact", found) if one["replaces"])
    new["replaces"] = new["id"]


def replaces_in_a_circle(found: list[dict[str, Any]]) -> None:
    new = next(one for one in of("fact", found) if one["replaces"])
    (old,) = of("fact", found, id=new["replaces"])
    old["replaces"] = new["id"]


def says_it_replaces_itself(found: list[dict[str, Any]]) -> None:
    said = of("fact", found, origin="said")[0]
    said["replaces"] = said["id"]


def merged_into_each_other(found: list[dict[str, Any]]) -> None:
    one, other, *_ = of("fact", found)
    for here, there in ((one, other), (other, one)):
        here |= {"verdict": "merged", "verdict_at": here["learnt_at"], "verdict_by": there["id"]}


def summary_of_itself(found: list[dict[str, Any]]) -> None:
    made = of("summary", found, session_id="s")[-1]
    made["inputs"] = [made["id"]]


def summaries_of_each_other(found: list[dict[str, Any]]) -> None:
    made = of("summary", found, session_id="s")[:3]
    for one, other in zip(made, [*made[1:], made[0]], strict=True):
        one["inputs"] = [other["id"]]


def folded_into_each_other(found: list[dict[str, Any]]) -> None:
    one, other, *_ = of("summary", found, session_id="s")
    one |= {"status": "folded", "folded_into": other["id"]}
    other |= {"status": "folded", "folded_into": one["id"]}


def episodes_of_each_other(found: list[dict[str, Any]]) -> None:
    one, other = of("episode", found, origin="told")
    one["merged"], other["merged"] = [other["id"]], [one["id"]]


def link_to_itself(found: list[dict[str, Any]]) -> None:
    (link,) = of("link", found, link_type="derived_from")
    link["target"] = link["source"]


def links_both_ways(found: list[dict[str, Any]]) -> None:
    (link,) = of("link", found, link_type="supersedes")
    found.append({**link, "source": link["target"], "target": link["source"]})


CIRCLES: list[Callable[[list[dict[str, Any]]], None]] = [
    replaces_itself,
    replaces_in_a_circle,
    says_it_replaces_itself,
    merged_into_each_other,
    summary_of_itself,
    summaries_of_each_other,
    folded_into_each_other,
    episodes_of_each_other,
    link_to_itself,
    links_both_ways,
]


def written(path: Path, found: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(one) for one in found))
    return path


def stored(memory: Memory, path: Path) -> int:
    """How many records an export has beside its header."""
    memory.export(path)
    return len(records(path)) - 1


@pytest.mark.parametrize("tangle", CIRCLES, ids=lambda tangle: tangle.__name__)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_file_with_a_circle_is_refused_whole(tangle, suffix, exported, tmp_path: Path) -> None:
    """What comes before itself is named, and nothing of the file is written."""
    found = json.loads(json.dumps(exported))
    tangle(found)
    file = written(tmp_path / "a.jsonl", found)
    if suffix == ".json":
        file = tmp_path / "a.json"
        file.write_text(json.dumps(found))
    with opened(tmp_path / "b.db") as memory:
        with pytest.raises(InputError, match=r"(itself|circle).*nothing was imported"):
            memory.import_(file)
        assert stored(memory, tmp_path / "after.jsonl") == 0


@pytest.mark.also_postgres
def test_a_circle_that_what_is_stored_would_close_is_refused(exported, place, tmp_path: Path) -> None:
    """Two files that are whole can still contradict each other."""
    found = json.loads(json.dumps(exported))
    new = next(one for one in of("fact", found) if one["replaces"])
    (old,) = of("fact", found, id=new["replaces"])
    with opened(place()) as memory:
        memory.import_(written(tmp_path / "a.jsonl", [new]))
        before = stored(memory, tmp_path / "before.jsonl")
        with pytest.raises(InputError, match=f"'{old['id']}' replaces '{new['id']}'.*nothing was imported"):
            memory.import_(written(tmp_path / "b.jsonl", [{**old, "replaces": new["id"]}]))
        assert stored(memory, tmp_path / "after.jsonl") == before
        memory.import_(written(tmp_path / "c.jsonl", [old]))
        assert memory.verify().problems == ()


def test_links_close_no_circle(tmp_path: Path) -> None:
    """What supersedes another is not superseded by it, however long the way; what is related may be so both ways."""
    with opened(tmp_path / "a.db") as memory:
        one, two, three = (memory.remember(text, user_id="ann").id for text in ("one lamp", "two lamps", "three lamps"))
        memory.link(one, two, "supersedes")
        memory.link(two, three, "supersedes")
        with pytest.raises(InputError, match=r"supersedes.*circle; link them the other way round"):
            memory.link(three, one, "supersedes")
        for kind in ("related_to", "contradicts", "depends_on"):
            memory.link(one, two, kind)
            memory.link(two, one, kind)
        assert memory.verify().problems == ()
        memory.export(tmp_path / "a.jsonl")
    with opened(tmp_path / "b.db") as copy:
        assert copy.import_(tmp_path / "a.jsonl").links == 8


def rewritten(path: Path, table: str, item: str, **changes: Any) -> None:
    """A record changed behind Lamina's back, with a digest that fits."""
    with closing(sqlite3.connect(path)) as connection:
        ((record,),) = connection.execute(f"select record from {table} where id = ?", (item,)).fetchall()
        told = json.dumps({**json.loads(record), **changes}, ensure_ascii=False, separators=(",", ":"))
        sql = f"update {table} set record = ?, digest = ? where id = ?"
        connection.execute(sql, (told, record_hash(item, told), item))
        connection.commit()


def test_circles_in_a_damaged_file_are_reported(exported, tmp_path: Path) -> None:
    """`verify` names each of them; all that reads goes on; forgetting, consolidation and `repair` end them."""
    path = tmp_path / "a.db"
    with opened(path) as memory:
        memory.import_(written(tmp_path / "a.jsonl", exported))
        new = next(fact for fact in memory.facts("ann") if fact.replaces)
        one, other = (one.id for one in memory.episodes("ann") if one.origin == "told")
        summary = memory.summaries("s", live=False)[-1].id
    rewritten(path, "facts", str(new.replaces), replaces=new.id)
    rewritten(path, "episodes", one, merged=[other])
    rewritten(path, "episodes", other, merged=[one])
    rewritten(path, "summaries", summary, inputs=[summary])
    with opened(path) as memory:
        found = memory.verify().problems
        assert {problem.kind for problem in found} == {"circle", "provenance"}
        texts = " ".join(problem.text for problem in found)
        assert all(item in texts for item in (new.id, one, other, summary))
        for look in (memory.history, memory.why, memory.graph):
            look(new.id)
        memory.consolidate()
        memory.forget(fact_id=new.id)
        assert memory.repair().problems == ()
