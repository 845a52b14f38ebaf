from datetime import timedelta

import restate
from restate import Workflow, WorkflowContext, WorkflowSharedContext

from effects import effect

order = Workflow("Order")


@order.main()
async def run(ctx: WorkflowContext, request: dict) -> str:
    """`POST /Order/{id}/run`: runs once for each id."""
    order_id = ctx.key()
    await ctx.run_typed("charge the card", lambda: effect(f"charge {order_id} {request['amount']}"))
    ctx.set("status", "waiting for approval")

    if await is_approved(ctx, request):
        await ctx.run_typed("ship", lambda: effect(f"ship {order_id} {request['item']}"))
        ctx.set("status", "shipped")
    else:
        await ctx.run_typed("refund", lambda: effect(f"refund {order_id} {request['amount']}"))
        ctx.set("status", "refunded")
    return f"{order_id}: {await ctx.get('status', type_hint=str)}"


@order.handler()
async def decide(ctx: WorkflowSharedContext, approved: bool) -> None:
    """`POST /Order/{id}/decide` with `true` or `false`: what the human says."""
    await ctx.promise("decision", type_hint=bool).resolve(approved)


@order.handler()
async def status(ctx: WorkflowSharedContext) -> str:
    """`POST /Order/{id}/status`"""
    return await ctx.get("status", type_hint=str) or "unknown"


async def is_approved(ctx: WorkflowContext, request: dict) -> bool:
    """Waits for the decision as long as it takes, and reminds once."""
    decision = ctx.promise("decision", type_hint=bool).value()
    reminder = ctx.sleep(timedelta(seconds=request["remindAfterSeconds"]))
    match await restate.select(decision=decision, reminder=reminder):
        case ["decision", approved]:
            return approved
    await ctx.run_typed("remind", lambda: effect(f"remind {ctx.key()}"))
    return await ctx.promise("decision", type_hint=bool).value()
