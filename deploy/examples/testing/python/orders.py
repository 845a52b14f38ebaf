"""A workflow that reminds a customer after three days."""

from datetime import timedelta

import restate
from restate import Workflow, WorkflowContext

orders = Workflow("Orders")


@orders.main()
async def run(ctx: WorkflowContext, items: int) -> int:
    await ctx.run_typed("reserve", lambda: "reserved")
    await ctx.sleep(timedelta(days=3))
    await ctx.run_typed("remind", lambda: "reminded")
    return items


app = restate.app([orders])
