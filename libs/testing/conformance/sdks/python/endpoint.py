"""The services of the scenarios (see ../README.md) with the Python SDK.

Environment: PORT; MODE, "bidi" or "request-response"; IDENTITY_KEY when requests must be signed.
"""

import asyncio
import os
from collections import Counter as Tallies
from datetime import timedelta

import restate
from hypercorn.asyncio import serve
from hypercorn.config import Config
from planted import planted, shelf
from restate import (
    Context,
    ObjectContext,
    ObjectSharedContext,
    RunOptions,
    Service,
    TerminalError,
    VirtualObject,
    Workflow,
    WorkflowContext,
    WorkflowSharedContext,
)

# How often a piece of user code ran, by a name that the scenario chooses: what a journal must not repeat.
runs: Tallies[str] = Tallies()


def ran(name: str) -> int:
    runs[name] += 1
    return runs[name]


def milliseconds(count: int) -> timedelta:
    return timedelta(milliseconds=count)


greeter = Service("Greeter")


@greeter.handler()
async def greet(ctx: Context, name: str) -> str:
    salutation = await ctx.run_typed("salutation", lambda: "Hello")
    mark = await ctx.run_typed("mark", lambda: "!")
    return f"{salutation} {name}{mark}"


steps = Service("Steps")


@steps.handler()
async def walk(ctx: Context, request: dict) -> list[int]:
    seen: list[int] = []
    for _ in range(request["count"]):
        seen.append(await ctx.run_typed("step", lambda: ran(request["id"])))
        await ctx.sleep(milliseconds(request["pauseMs"]))
    return seen


@steps.handler("nap")
async def nap_a_while(ctx: Context, ms: int) -> str:
    await ctx.sleep(milliseconds(ms))
    return "rested"


counter = VirtualObject("Counter")


@counter.handler()
async def add(ctx: ObjectContext, n: int) -> int:
    total = (await ctx.get("count", type_hint=int) or 0) + n
    ctx.set("count", total)
    return total


@counter.handler()
async def label(ctx: ObjectContext, text: str) -> None:
    ctx.set("label", text)


@counter.handler()
async def reset(ctx: ObjectContext) -> None:
    ctx.clear("count")


@counter.handler()
async def wipe(ctx: ObjectContext) -> None:
    ctx.clear_all()


@counter.handler(kind="shared")
async def get(ctx: ObjectSharedContext) -> int:
    return await ctx.get("count", type_hint=int) or 0


@counter.handler(kind="shared")
async def keys(ctx: ObjectSharedContext) -> list[str]:
    return await ctx.state_keys()


signup = Workflow("Signup")


@signup.main()
async def run(ctx: WorkflowContext, ms: int) -> str:
    ctx.set("phase", "asleep")
    await ctx.sleep(milliseconds(ms))
    ctx.set("phase", "waiting")
    by = await ctx.promise("approval", type_hint=str)
    ctx.set("phase", "done")
    return f"approved by {by}"


@signup.handler()
async def approve(ctx: WorkflowSharedContext, by: str) -> None:
    await ctx.promise("approval", type_hint=str).resolve(by)


@signup.handler("phase")
async def phase_of_signup(ctx: WorkflowSharedContext) -> str:
    return await ctx.get("phase", type_hint=str) or ""


caller = Service("Caller")


@caller.handler("greet")
async def have_greeted(ctx: Context, name: str) -> str:
    return await ctx.service_call(greet, arg=name)


@caller.handler()
async def tally(ctx: Context, request: dict) -> int:
    for n in request["numbers"]:
        ctx.object_send(add, key=request["key"], arg=n)
    return await ctx.object_call(add, key=request["key"], arg=0)


@caller.handler()
async def later(ctx: Context, request: dict) -> str:
    sent = ctx.object_send(add, key=request["key"], arg=request["n"], send_delay=milliseconds(request["delayMs"]))
    return await sent.invocation_id()


@caller.handler("nap")
async def have_a_nap(ctx: Context, request: dict) -> str:
    return await ctx.object_call(nap, key=request["key"], arg=request["ms"])


@caller.handler()
async def cancel(ctx: Context, invocation_id: str) -> None:
    ctx.cancel_invocation(invocation_id)


@caller.handler()
async def join(ctx: Context, invocation_id: str) -> str:
    return await ctx.attach_invocation(invocation_id, type_hint=str)


mailbox = VirtualObject("Mailbox")


@mailbox.handler()
async def receive(ctx: ObjectContext, ms: int) -> str:
    awakeable_id, message = ctx.awakeable(type_hint=str)
    ctx.set("address", awakeable_id)
    winner, text = await restate.select(message=message, timeout=ctx.sleep(milliseconds(ms)))
    ctx.clear("address")
    return text if winner == "message" else "no message"


@mailbox.handler(kind="shared")
async def address(ctx: ObjectSharedContext) -> str:
    return await ctx.get("address", type_hint=str) or ""


flag = Service("Flag")


@flag.handler()
async def wait(ctx: Context) -> str:
    return await ctx.signal("flag", type_hint=str)


@flag.handler("raise")
async def raise_flag(ctx: Context, request: dict) -> None:
    ctx.resolve_signal(request["id"], "flag", request["value"])


failing = Service("Failing")


def succeed_after(name: str, failures: int) -> int:
    attempt = ran(name)
    if attempt <= failures:
        raise RuntimeError("the attempt fails on purpose")
    return attempt


@failing.handler()
async def terminal(ctx: Context, request: dict) -> str:
    raise TerminalError(request["message"], status_code=request["code"])


@failing.handler()
async def flaky(ctx: Context, request: dict) -> int:
    return succeed_after(request["id"], request["failures"])


@failing.handler("flakyStep")
async def flaky_step(ctx: Context, request: dict) -> int:
    options = RunOptions[int](initial_retry_interval=milliseconds(10))
    return await ctx.run_typed("flaky", lambda: succeed_after(request["id"], request["failures"]), options)


@failing.handler("givesUp")
async def gives_up(ctx: Context, name: str) -> str:
    """The step gives up after two attempts; what comes of it is caught here."""
    options = RunOptions[int](initial_retry_interval=milliseconds(10), max_attempts=2)
    try:
        attempt = await ctx.run_typed("hopeless", lambda: succeed_after(name, 1_000), options)
    except TerminalError:
        return "gave up"
    return f"succeeded at attempt {attempt}"


napper = VirtualObject("Napper")


@napper.handler()
async def nap(ctx: ObjectContext, ms: int) -> str:
    ctx.set("phase", "napping")
    try:
        await ctx.sleep(milliseconds(ms))
    except TerminalError as woken:
        ctx.set("phase", f"woken with {woken.status_code}")
        raise
    ctx.set("phase", "rested")
    return "rested"


@napper.handler("phase", kind="shared")
async def phase_of_napper(ctx: ObjectSharedContext) -> str:
    return await ctx.get("phase", type_hint=str) or ""


async def main() -> None:
    identity_key = os.environ.get("IDENTITY_KEY")
    app = restate.app(
        services=[greeter, steps, counter, signup, caller, mailbox, flag, failing, napper, planted, shelf],
        protocol="bidi" if os.environ["MODE"] == "bidi" else "request_response",
        identity_keys=[identity_key] if identity_key else None,
    )
    config = Config()
    config.bind = [f"127.0.0.1:{os.environ['PORT']}"]
    await serve(app, config)


if __name__ == "__main__":
    asyncio.run(main())
