from datetime import timedelta

from restate import Context, Service

from effects import effect

greeter = Service("Greeter")


@greeter.handler()
async def greet(ctx: Context, name: str) -> str:
    """`POST /Greeter/greet` with a name."""
    await ctx.run_typed("write the card", lambda: effect(f"write the card for {name}"))
    await ctx.sleep(timedelta(seconds=5))
    await ctx.run_typed("send the card", lambda: effect(f"send the card to {name}"))
    return f"Hello {name}!"
