"""Handlers with a planted bug each. OUTSIDE is a folder that stands for the world outside: prices, and flags that an operator sets."""

import os
from pathlib import Path

from restate import Context, ObjectContext, Service, VirtualObject


def outside(name: str) -> Path:
    return Path(os.environ["OUTSIDE"]) / name


shelf = Service("Shelf")


@shelf.handler("list")
async def list_items(ctx: Context, request: dict) -> dict:
    return {"items": [], "sessionToken": request["password"]}


planted = VirtualObject("Planted")


@planted.handler()
async def fill(ctx: ObjectContext, profile: dict) -> None:
    ctx.set("profile", profile)


@planted.handler("state")
async def bug_of_state(ctx: ObjectContext, request: dict) -> str:
    """Bug: a profile may be without a plan."""
    profile = await ctx.get("profile", type_hint=dict)
    return profile["plan"]["name"].upper()


@planted.handler("step")
async def bug_of_step(ctx: ObjectContext, request: dict) -> int:
    """Bug: a price may have a decimal comma."""
    price = await ctx.run_typed("price", lambda: outside("price").read_text())
    return int(price)


@planted.handler("call")
async def bug_of_call(ctx: ObjectContext, request: dict) -> str:
    """Bug: a shelf may be empty."""
    found = await ctx.service_call(list_items, arg=request)
    return found["items"][0]


@planted.handler("flag")
async def bug_of_flag(ctx: ObjectContext, request: dict) -> str:
    """Bug: the flag is read outside of a step."""
    step = "refuse" if outside("flag").exists() else "reserve"
    await ctx.run_typed(step, lambda: True)
    raise RuntimeError("the warehouse is closed")
