"""Requests from handlers to systems outside of Perdure: in your project, the client of the real system."""

import os
from typing import Any

import httpx
from restate import TerminalError

CLIENT_ERROR = 400
SERVER_ERROR = 500


async def call_outside(action: str, key: str, body: Any) -> Any:
    """Sends one request, `action` for example `bank/charge`. The system performs the action once per `key`.

    A step may run again when a crash prevents its result from being stored, so every request that changes something needs a key.
    Raises `TerminalError` when the system refuses (4xx), so that the handler fails; any other error is retried by Perdure.
    """
    async with httpx.AsyncClient(timeout=60) as client:
        response = await client.post(f"{os.environ['OUTSIDE_URL']}/{action}", json=body, headers={"idempotency-key": key})
    if CLIENT_ERROR <= response.status_code < SERVER_ERROR:
        raise TerminalError(response.text, status_code=response.status_code)
    response.raise_for_status()
    return response.json()
