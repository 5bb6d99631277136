"""A chat service with many users, each with a memory of their own.

Install:  pip install lamina openai fastapi uvicorn
Run:      OPENAI_API_KEY=... uvicorn fastapi_app:app
Try:      curl -X POST localhost:8000/chat/alex -H 'Content-Type: application/json' -d '{"text": "Hi, I am Alex."}'
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from openai import AsyncOpenAI
from pydantic import BaseModel

from lamina import AsyncMemory

MODEL = os.environ.get("MODEL", "gpt-5-mini")

client = AsyncOpenAI()
memory = AsyncMemory("service.db")


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """Open the memory when the service starts, close it when it stops."""
    async with memory:
        yield


app = FastAPI(lifespan=lifespan)


class Question(BaseModel):
    """What a user says, and in which conversation."""

    text: str
    session: str = "main"


class Reply(BaseModel):
    """What the model answered."""

    text: str


@app.post("/chat/{user}")
async def chat(user: str, question: Question) -> Reply:
    """Answer a user. In a real service, `user` comes from the login, never from the address."""
    session = f"{user}/{question.session}"  # a session belongs to one user, so its id has the user's name in it
    context = await memory.context(question.text, user_id=user, session_id=session, system="Be brief.", budget=2000)
    answer = await client.chat.completions.create(model=MODEL, messages=context.messages)
    await memory.add([question.text, answer], user_id=user, session_id=session)
    return Reply(text=answer.choices[0].message.content or "")


@app.get("/facts/{user}")
async def facts(user: str) -> list[str]:
    """What is known of a user now."""
    return [f"{fact.key or fact.category}: {fact.value}" for fact in await memory.facts(user)]


@app.delete("/memory/{user}")
async def forget(user: str) -> dict[str, int]:
    """Erase everything of a user, down to the bytes of the file."""
    receipt = await memory.forget(user_id=user)
    return {"messages": len(receipt.messages), "facts": len(receipt.facts)}
