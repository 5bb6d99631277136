"""The service behind a page, asked without the page."""

from typing import Any

import httpx2

from tests.waiting import CEILING


def ask(method: str, address: str, path: str, *, body: Any = None, key: str | None = None, **asked: Any) -> Any:
    """What the service answers; a refusal is an error."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = f"{address}/v1/{path}"
    answer = httpx2.request(method, url, params=asked, json=body, headers=headers, timeout=CEILING)
    return answer.raise_for_status().json()


def read(address: str, path: str, **asked: Any) -> Any:
    return ask("GET", address, path, **asked)


def post(address: str, path: str, **body: Any) -> Any:
    return ask("POST", address, path, body=body)
