/** Tools about invocations: list, describe, explain, timeline, SQL. */
import type { ExplanationView } from "@perdure/admin-client";
import { z } from "zod";
import { CliError, FAILED } from "../../errors.js";
import { listStatement } from "../manage/invocation-rows.js";
import { conditionFor, FILTER_FIELDS, InvocationIdText } from "./filter.js";
import { HISTORY_BYTES_MAX, LIST_BYTES_MAX, ROWS_DEFAULT, ROWS_MAX, SQL_CHARS_MAX } from "./limits.js";
import { fitting, fittingFromEnd, shortened, type ToolResult } from "./results.js";
import { type Tool, type ToolCall, type ToolContext, tool } from "./tool.js";

const rowsMax = z.int().min(1).max(ROWS_MAX).default(ROWS_DEFAULT).describe("Maximum number of rows");

const ListInvocations = z.strictObject({
  ...FILTER_FIELDS,
  include_completed: z.boolean().default(false).describe("Completed invocations as well; implied by statuses, result and where"),
  limit: rowsMax,
});
const OneInvocation = z.strictObject({ id: InvocationIdText });
const Timeline = z.strictObject({
  id: InvocationIdText,
  payloads: z.boolean().default(false).describe("The beginning of payloads as well"),
  from_step: z.int().min(0).default(0).describe("Journal index of the first step; next_step of the result before"),
});
const Statement = z.strictObject({
  statement: z.string().min(1).max(SQL_CHARS_MAX).describe("One statement: SELECT, WITH, SHOW TABLES, DESCRIBE sys_invocation"),
  limit: rowsMax,
});

export function invocationTools(context: ToolContext): readonly Tool[] {
  const { admin } = context;
  return [
    tool({
      name: "list_invocations",
      title: "List invocations",
      description: "Lists invocations, newest first, by default those that are not completed. All filters must match.",
      changes: "nothing",
      input: ListInvocations,
      execute: async (args, call) => await list(context, args, call),
    }),
    tool({
      name: "describe_invocation",
      title: "Describe an invocation",
      description: "Shows all columns of an invocation (status, attempts, failures, caller, retention) and what it waits for.",
      changes: "nothing",
      input: OneInvocation,
      execute: async ({ id }, call) => {
        const row = await admin.invocations.row(id, call);
        if (row === undefined)
          throw new CliError(FAILED, `There is no invocation ${id}`, "Completed invocations are deleted after their retention.");
        return { invocation: shortened(row), explanation: explanationView(await admin.invocations.explain(id, call)) };
      },
    }),
    tool({
      name: "explain_invocation",
      title: "Explain an invocation",
      description:
        "Explains what an invocation waits for, which invocation really blocks it, deadlocks, and the remedies, the least intrusive first.",
      changes: "nothing",
      input: OneInvocation,
      execute: async ({ id }, call) => explanationView(await admin.invocations.explain(id, call)),
    }),
    tool({
      name: "invocation_timeline",
      title: "Timeline of an invocation",
      description: "Shows where an invocation's time went: phases, attempts with failures, and steps of the journal in pages.",
      changes: "nothing",
      input: Timeline,
      execute: async (args, call) => await timeline(context, args, call),
    }),
    tool({
      name: "query_sql",
      title: "Query with SQL",
      description:
        "Runs one read-only SQL statement over invocations, journals, state, promises and more. SHOW TABLES lists the tables, DESCRIBE their columns. Null columns are absent from rows.",
      changes: "nothing",
      input: Statement,
      execute: async ({ statement, limit }, call) => {
        const rows = await admin.sql.query(statement, call);
        const { items, leftOut } = fitting(rows, limit);
        return { rows: items, left_out: leftOut };
      },
    }),
  ];
}

async function list({ admin, clock }: ToolContext, args: z.output<typeof ListInvocations>, call: ToolCall): Promise<ToolResult> {
  const { include_completed, limit, ...filter } = args;
  const includesCompleted =
    include_completed || filter.statuses !== undefined || filter.result !== undefined || filter.where !== undefined;
  const condition = conditionFor(filter, clock.nowMs());
  const rows = await admin.sql.query(listStatement(condition, includesCompleted, limit + 1), call);
  const { items } = fitting(rows, limit);
  return { invocations: items, more: rows.length > items.length };
}

/** The chain is bounded by the server; texts and bytes are bounded here. */
function explanationView({ chain, ...explanation }: ExplanationView): ToolResult {
  const { items, leftOut } = fitting(chain, chain.length, LIST_BYTES_MAX / 2);
  return { ...Object(shortened(explanation)), chain: items, chain_is_cut: explanation.chain_is_cut || leftOut > 0 };
}

async function timeline({ admin }: ToolContext, args: z.output<typeof Timeline>, call: ToolCall): Promise<ToolResult> {
  const page = await admin.invocations.timeline(args.id, { ...call, payloads: args.payloads, fromStep: args.from_step });
  const steps = fitting(page.steps, page.steps.length);
  const attempts = fittingFromEnd(page.attempts, page.attempts.length, HISTORY_BYTES_MAX);
  const phases = fittingFromEnd(page.phases, page.phases.length, HISTORY_BYTES_MAX);
  return {
    ...page,
    phases: phases.items,
    earlier_phases_left_out: phases.leftOut,
    attempts: attempts.items,
    earlier_attempts_left_out: attempts.leftOut,
    steps: steps.items,
    next_step: page.steps[steps.items.length]?.index ?? page.next_step,
  };
}
