"""Human approval with reminders. See ../src/approval/services.ts for the explanation."""

from datetime import timedelta

import restate
from restate import Workflow, WorkflowContext, WorkflowSharedContext

from outside import call_outside

DECISION = "decision"
REMINDERS_MAX = 10

expense_approval = Workflow("ExpenseApproval")


@expense_approval.main()
async def run(ctx: WorkflowContext, expense: dict) -> str:
    """Returns `paid`, `rejected` or `expired`. The key of the workflow is the number of the expense."""
    await send_mail(ctx, "question", expense["approver"], "please decide")
    for reminder in range(1, REMINDERS_MAX + 1):
        pause = ctx.sleep(timedelta(milliseconds=expense["remindAfterMs"]))
        match await restate.select(decision=ctx.promise(DECISION, type_hint=bool).value(), pause=pause):
            case ["decision", True]:
                await ctx.run_typed("pay", call_outside, action="payroll/pay", key=ctx.key(), body=expense)
                return "paid"
            case ["decision", _]:
                return "rejected"
        await send_mail(ctx, f"reminder-{reminder}", expense["approver"], "still waiting")
    return "expired"


@expense_approval.handler()
async def decide(ctx: WorkflowSharedContext, is_approved: bool) -> None:
    """Called by the link in the mail. The first decision counts."""
    await ctx.promise(DECISION, type_hint=bool).resolve(is_approved)


async def send_mail(ctx: WorkflowContext, name: str, to: str, text: str) -> None:
    await ctx.run_typed(name, call_outside, action="mail/send", key=f"{ctx.key()}/{name}", body={"to": to, "text": text})
