"""Fan-out and fan-in. See ../src/fan-out/services.ts for the explanation."""

import restate
from restate import Context, Service

from outside import call_outside

page_counter = Service("PageCounter")
book_counter = Service("BookCounter")


@page_counter.handler("count")
async def count_page(ctx: Context, page: str) -> int:
    """Returns the number of words of one page."""
    counted = await ctx.run_typed("count the words", call_outside, action="pages/count", key=page, body={"page": page})
    return counted["words"]


@book_counter.handler("count")
async def count_book(ctx: Context, pages: list[str]) -> int:
    """Returns the number of words of all pages, which are counted at the same time."""
    calls = [ctx.service_call(count_page, arg=page) for page in pages]
    await restate.gather(*calls)
    return sum([await call for call in calls])
