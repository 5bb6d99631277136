"""Routes for what is known of users: facts, episodes, profiles, digests."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Response

from lamina.errors import InputError, NotFound
from lamina.server.auth import KEY_SECURITY, Reader, Writer
from lamina.server.input_types import PathId, RecordAccess
from lamina.server.inputs import (
    DigestQuery,
    EpisodesQuery,
    FactChange,
    FactsQuery,
    GraphQuery,
    KnowledgeQuery,
    ListQuery,
    NewEpisode,
    NewFact,
    NewLink,
    ProfileQuery,
)
from lamina.server.rest.etags import IfMatch, choose_tag, set_etag
from lamina.server.rest.pagination import Page, paginate, whole_list
from lamina.values.fact import Arc, Episode, Fact, Fading, Graph, Link, UserProfile, Why
from lamina.values.summary import Divergence, Summary

routes = APIRouter(prefix="/v1", dependencies=KEY_SECURITY)


@routes.get("/users", tags=["facts"], operation_id="list_users")
async def list_users(memory: Reader, params: Annotated[ListQuery, Query()]) -> Page[str]:
    """Everybody of whom there is a session or a fact, by id."""
    users = await memory.users()
    return paginate(users, "users", params, str)


@routes.get("/users/{user_id}/facts", tags=["facts"], operation_id="list_facts")
async def list_facts(memory: Reader, user_id: PathId, params: Annotated[FactsQuery, Query()]) -> Page[Fact]:
    """The facts that are true of a user now, or were then, most important first; with `statuses`, all of these."""
    found = await memory.facts(user_id, **params.model_dump(exclude={"cursor", "limit"}))
    return paginate(found, "facts", params)


@routes.post("/users/{user_id}/facts", tags=["facts"], operation_id="remember", status_code=201)
async def remember(memory: Writer, user_id: PathId, body: NewFact) -> Fact:
    """Store a memory by hand, read as if the user had said it; a new value takes the place of the old one."""
    return await memory.remember(user_id=user_id, **body.model_dump())


@routes.get("/facts/{fact_id}", tags=["facts"], operation_id="get_fact")
async def get_fact(memory: Reader, fact_id: PathId, response: Response, record_access: RecordAccess = True) -> Fact:
    """A fact with its quote, validity and standing."""
    fact = await memory.fact(fact_id, record_access=record_access)
    set_etag(response, fact)
    return fact


@routes.patch("/facts/{fact_id}", tags=["facts"], operation_id="change_fact")
async def change_fact(memory: Writer, fact_id: PathId, body: FactChange, tags: IfMatch, response: Response) -> Fact:
    """A new version of a fact; or promote or demote it."""
    changes = body.model_dump(exclude={"standing"}, exclude_unset=True)
    if (body.standing is None) != bool(changes):
        raise InputError("give what changes (value, tags, importance, valid_until), or else the standing, not both")
    expect = await choose_tag(tags, lambda: memory.fact(fact_id, record_access=False))
    if body.standing == "promoted":
        fact = await memory.promote(fact_id, expect=expect)
    elif body.standing == "demoted":
        fact = await memory.demote(fact_id, expect=expect)
    else:
        fact = await memory.update(fact_id, expect=expect, **changes)
        response.headers["Content-Location"] = f"/v1/facts/{quote(fact.id, safe='')}"
    set_etag(response, fact)
    return fact


@routes.delete("/facts/{fact_id}", tags=["facts"], operation_id="retract_fact")
async def retract_fact(memory: Writer, fact_id: PathId, tags: IfMatch, response: Response) -> Fact:
    """Mark a fact as never true; it stays in the history. To erase it for good: `POST /v1/forget`."""
    expect = await choose_tag(tags, lambda: memory.fact(fact_id, record_access=False))
    fact = await memory.retract(fact_id, expect=expect)
    set_etag(response, fact)
    return fact


@routes.get("/facts/{fact_id}/history", tags=["facts"], operation_id="get_fact_history")
async def get_fact_history(memory: Reader, fact_id: PathId) -> Page[Fact]:
    """Every value of what a fact is about, in the order they were learnt."""
    return whole_list(await memory.history(fact_id))


@routes.get("/facts/{fact_id}/why", tags=["facts"], operation_id="explain_fact")
async def explain_fact(memory: Reader, fact_id: PathId) -> Why:
    """Where a fact comes from, word for word, and why it has its status."""
    return await memory.why(fact_id)


@routes.get("/users/{user_id}/episodes", tags=["users"], operation_id="list_episodes")
async def list_episodes(memory: Reader, user_id: PathId, params: Annotated[EpisodesQuery, Query()]) -> Page[Episode]:
    """The moments that mattered, in the order they happened."""
    found = await memory.episodes(user_id, **params.model_dump(exclude={"cursor", "limit"}))
    return paginate(found, "episodes", params)


@routes.get("/users/{user_id}/profile", tags=["users"], operation_id="get_profile")
async def get_profile(memory: Reader, user_id: PathId, params: Annotated[ProfileQuery, Query()]) -> UserProfile:
    """What is known of a user, as facts and as a page."""
    return await memory.user_profile(user_id, **params.model_dump())


@routes.get("/users/{user_id}/digest", tags=["users"], operation_id="get_digest")
async def get_digest(memory: Reader, user_id: PathId, params: Annotated[DigestQuery, Query()]) -> Summary:
    """The summary of the last sessions, for a new session of this user."""
    found = await memory.digest(user_id, project_id=params.project_id)
    if found is None:
        raise NotFound("this user has no digest yet; one is written when a session ends")
    return found


@routes.post("/sessions/{session_id}/episodes", tags=["users"], operation_id="add_episode", status_code=201)
async def add_episode(memory: Writer, session_id: PathId, body: NewEpisode) -> Episode:
    """Store an episode by hand."""
    turns = None if body.turns is None else (body.turns[0], body.turns[1])
    return await memory.add_episode(session_id, turns=turns, **body.model_dump(exclude={"turns"}))


@routes.get("/sessions/{session_id}/arc", tags=["sessions"], operation_id="get_arc")
async def get_arc(memory: Reader, session_id: PathId) -> Arc:
    """The course of a session in episodes: beginning, middle, end, and the moments that mattered most."""
    return await memory.arc(session_id)


@routes.get("/users/{user_id}/consistency", tags=["users"], operation_id="list_divergences")
async def list_divergences(memory: Reader, user_id: PathId) -> Page[Divergence]:
    """Where summaries do not agree with the facts."""
    return whole_list(await memory.consistency(user_id))


@routes.get("/users/{user_id}/fading", tags=["users"], operation_id="list_fading")
async def list_fading(memory: Reader, user_id: PathId, params: Annotated[KnowledgeQuery, Query()]) -> Page[Fading]:
    """How fresh each fact that holds and each episode is, the most faded first, and when it would be archived."""
    found = await memory.fading(user_id)
    return paginate(found, "fading", params)


@routes.post("/links", tags=["facts"], operation_id="link", status_code=201)
async def link(memory: Writer, body: NewLink) -> Link:
    """Link two memories of a user, facts or episodes."""
    return await memory.link(**body.model_dump())


@routes.get("/memories/{memory_id}/graph", tags=["facts"], operation_id="get_graph")
async def get_graph(memory: Reader, memory_id: PathId, params: Annotated[GraphQuery, Query()]) -> Graph:
    """The memories that can be reached from a fact or an episode, with the links between them."""
    return await memory.graph(memory_id, params.depth, params.types)
