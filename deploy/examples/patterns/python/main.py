"""Serves five of the patterns with the Python SDK, on 127.0.0.1:9080 or PORT."""

import asyncio
import os

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config

from agent import agent
from approval import expense_approval
from fan_out import book_counter, page_counter
from saga import trip_booking
from webhook import order_events

SERVICES = [trip_booking, expense_approval, book_counter, page_counter, order_events, agent]


async def main() -> None:
    config = Config()
    config.bind = [f"127.0.0.1:{os.environ.get('PORT', '9080')}"]
    await serve(restate.app(services=SERVICES), config)


if __name__ == "__main__":
    asyncio.run(main())
