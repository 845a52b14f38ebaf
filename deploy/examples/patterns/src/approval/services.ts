/**
 * Human approval: a workflow waits for a person, for minutes or months, sends reminders meanwhile, and gives up at last. No process waits:
 * the workflow is suspended until the decision or the next reminder.
 */
import { handlers, TimeoutError, type WorkflowContext, type WorkflowSharedContext, workflow } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

export interface Expense {
  readonly employee: string;
  readonly approver: string;
  readonly cents: number;
  readonly remindAfterMs: number;
}

const DECISION = "decision";
const REMINDERS_MAX = 10;
const Done = z.object({});

export const expenseApproval = workflow({
  name: "ExpenseApproval",
  handlers: {
    /** Returns `paid`, `rejected` or `expired`. The key of the workflow is the number of the expense. */
    run: async (ctx: WorkflowContext, expense: Expense): Promise<string> => {
      await ctx.run("send the question", () => mail(`${ctx.key}/question`, expense.approver, "please decide"));
      const isApproved = await decisionWithReminders(ctx, expense);
      if (isApproved === undefined) return "expired";
      if (!isApproved) return "rejected";
      await ctx.run("pay", () => callOutside("payroll/pay", ctx.key, expense, Done));
      return "paid";
    },

    /** Called by the link in the mail. The first decision counts. */
    decide: handlers.workflow.shared(async (ctx: WorkflowSharedContext, isApproved: boolean): Promise<void> => {
      await ctx.promise<boolean>(DECISION).resolve(isApproved);
    }),
  },
});

/** Undefined when there is no decision after all reminders. */
async function decisionWithReminders(ctx: WorkflowContext, expense: Expense): Promise<boolean | undefined> {
  for (let reminder = 1; reminder <= REMINDERS_MAX; reminder++) {
    try {
      return await ctx.promise<boolean>(DECISION).get().orTimeout(expense.remindAfterMs);
    } catch (cause) {
      if (!(cause instanceof TimeoutError)) throw cause;
      await ctx.run(`reminder ${reminder}`, () => mail(`${ctx.key}/reminder-${reminder}`, expense.approver, "still waiting"));
    }
  }
  return undefined;
}

function mail(key: string, to: string, text: string): Promise<object> {
  return callOutside("mail/send", key, { to, text }, Done);
}
