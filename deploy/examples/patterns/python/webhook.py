"""Webhook receiver: one object per order. See ../src/webhook/services.ts for the explanation."""

from restate import ObjectContext, ObjectSharedContext, VirtualObject

from outside import call_outside

order_events = VirtualObject("OrderEvents")


@order_events.handler()
async def receive(ctx: ObjectContext, event: dict) -> None:
    """The idempotency key of the request is the id of the event, so a repeated delivery starts nothing."""
    latest = await ctx.get("latest", type_hint=dict)
    if latest is not None and latest["sequence"] >= event["sequence"]:
        return  # An older event that arrives late.
    key = f"{ctx.key()}/{event['sequence']}"
    body = {"order": ctx.key(), **event}
    await ctx.run_typed("notify the customer", call_outside, action="customers/notify", key=key, body=body)
    ctx.set("latest", event)


@order_events.handler(kind="shared")
async def status(ctx: ObjectSharedContext) -> str:
    latest = await ctx.get("latest", type_hint=dict)
    return "unknown" if latest is None else latest["status"]
