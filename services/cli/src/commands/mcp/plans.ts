/** Tools that change invocations in two steps: a plan names them and changes nothing, a confirmation executes exactly the plan, once. */
import { randomUUID } from "node:crypto";
import type { BatchResultView, BatchStart, BatchView } from "@perdure/admin-client";
import { BoundedCache } from "@perdure/base";
import { z } from "zod";
import { CliError, FAILED, USAGE } from "../../errors.js";
import { pause } from "../../pause.js";
import { applicableCondition } from "../manage/invocation-rows.js";
import { textOf } from "../manage/texts.js";
import { conditionFor, FILTER_FIELDS, InvocationIdText } from "./filter.js";
import {
  BATCH_POLL_MS,
  BATCH_WAIT_MS_MAX,
  FILTER_CHARS_MAX,
  LIST_BYTES_MAX,
  PLAN_AGE_MS_MAX,
  PLAN_INVOCATIONS_MAX,
  PLANS_MAX,
  RESULT_PAGES_MAX,
} from "./limits.js";
import { fitting, type ToolResult } from "./results.js";
import { type Tool, type ToolCall, type ToolContext, tool } from "./tool.js";

/** Operations by the names of the command line. */
const OPERATIONS = {
  cancel: "cancel",
  kill: "kill",
  pause: "pause",
  resume: "resume",
  purge: "purge",
  restart: "restart-as-new",
} as const;

const PlanChange = z.strictObject({
  operation: z
    .enum(["cancel", "kill", "pause", "resume", "purge", "restart"])
    .describe("purge and restart apply to completed invocations, the others to those that are not completed"),
  ids: z.array(InvocationIdText).min(1).max(PLAN_INVOCATIONS_MAX).optional().describe("Ids of the invocations"),
  ...FILTER_FIELDS,
  limit: z.int().min(1).max(PLAN_INVOCATIONS_MAX).default(PLAN_INVOCATIONS_MAX).describe("Maximum number, oldest first"),
  deployment: z
    .string()
    .min(1)
    .max(FILTER_CHARS_MAX)
    .optional()
    .describe("For resume and restart: keep, latest or the id of a deployment"),
  reason: z.string().min(1).max(400).optional().describe("Stored with the operation"),
});
const ConfirmChange = z.strictObject({ plan_id: z.string().min(1).max(FILTER_CHARS_MAX) });

/** The request of a plan: the operation and the ids of its invocations. */
type Plan = BatchStart & { readonly ids: readonly string[] };
type Plans = BoundedCache<string, Plan>;

export function changeTools(context: ToolContext): readonly Tool[] {
  const plans: Plans = new BoundedCache({
    entriesMax: PLANS_MAX,
    expiry: { clock: context.clock, ttlMs: PLAN_AGE_MS_MAX },
  });
  return [
    tool({
      name: "plan_change",
      title: "Plan a change",
      description:
        "Plans an operation on invocations, which are named by ids or selected by filters. Returns the id of the plan and all invocations that it would change. Changes nothing: confirm_change executes the plan.",
      changes: "nothing",
      input: PlanChange,
      execute: async (args, call) => await plan(context, plans, args, call),
    }),
    tool({
      name: "confirm_change",
      title: "Execute a planned change",
      description:
        "Executes a plan of plan_change on exactly the invocations that it lists. A plan expires after ten minutes and is executed once. A restart, and a cancellation that reached a handler, cannot be undone, and other operations only for some minutes: let the user confirm the plan first.",
      changes: "invocations",
      input: ConfirmChange,
      execute: async ({ plan_id }, call) => await confirm(context, plans, plan_id, call),
    }),
  ];
}

async function plan(
  { admin, clock }: ToolContext,
  plans: Plans,
  { operation, ids, limit, deployment, reason, ...filter }: z.output<typeof PlanChange>,
  call: ToolCall,
): Promise<ToolResult> {
  const chosen = conditionFor(filter, clock.nowMs(), ids);
  if (chosen === undefined)
    throw new CliError(USAGE, "The plan selects no invocations", "Name their ids, or select them with filters.");
  const verb = OPERATIONS[operation];
  const where = applicableCondition(chosen, verb);
  const statement = `SELECT id, target, status FROM sys_invocation WHERE ${where} ORDER BY created_at LIMIT ${limit + 1}`;
  const rows = await admin.sql.query(statement, call);
  // The plan has the invocations that the result shows, no others.
  const { items } = fitting(rows, limit, LIST_BYTES_MAX);
  const planned = rows.slice(0, items.length).map((row) => textOf(row, "id") ?? "");
  const notApplicable = (ids ?? []).filter((id) => !planned.includes(id));
  const outcome = { operation, count: planned.length, more_match: rows.length > items.length, invocations: items };
  if (planned.length === 0) return { ...outcome, not_applicable: notApplicable };
  const request: Plan = {
    operation: verb,
    ids: planned,
    reason: reason === undefined ? "perdure mcp" : `perdure mcp: ${reason}`,
    ...(deployment === undefined ? {} : { deployment }),
  };
  // The server checks the request and the permission of the API key now, not only at the confirmation.
  await admin.batches.preview(request, call);
  const planId = `plan_${randomUUID()}`;
  plans.set(planId, request);
  const expiresAt = new Date(clock.nowMs() + PLAN_AGE_MS_MAX).toISOString();
  return { plan_id: planId, expires_at: expiresAt, ...outcome, not_applicable: notApplicable };
}

async function confirm(context: ToolContext, plans: Plans, planId: string, call: ToolCall): Promise<ToolResult> {
  const request = plans.get(planId);
  // Taken before the request is sent: a second confirmation must not execute it again, whatever becomes of the first.
  if (request === undefined || !plans.delete(planId)) {
    throw new CliError(
      FAILED,
      `There is no plan '${planId}': it was executed, it is older than ten minutes, or it was made by another process`,
      "Make a new plan with plan_change.",
    );
  }
  const { batches } = context.admin;
  const batch = await untilEnded(context, await batches.begin(request, call), call);
  const results = batch.state === "running" ? [] : await resultsOf(context, batch.id, call);
  const failures = results.filter(({ result }) => result === "failed");
  const restarted = results.filter(({ new_invocation_id }) => new_invocation_id !== undefined);
  return {
    batch_id: batch.id,
    operation: batch.operation,
    state: batch.state,
    matched: batch.matched,
    succeeded: batch.succeeded,
    failed: batch.failed,
    remaining: batch.remaining,
    failures: fitting(failures, failures.length, LIST_BYTES_MAX / 2).items,
    restarted: fitting(restarted, restarted.length, LIST_BYTES_MAX / 2).items,
  };
}

/** Polls until the batch has ended, or the time of one call has; the batch continues in the server. */
async function untilEnded({ admin, clock }: ToolContext, begun: BatchView, { signal }: ToolCall): Promise<BatchView> {
  const deadlineMs = clock.monotonicMs() + BATCH_WAIT_MS_MAX;
  let batch = begun;
  while (batch.state === "running" && clock.monotonicMs() < deadlineMs) {
    await pause({ clock, signal }, BATCH_POLL_MS);
    batch = await admin.batches.get(batch.id, { signal });
  }
  return batch;
}

async function resultsOf({ admin }: ToolContext, id: string, call: ToolCall): Promise<readonly BatchResultView[]> {
  const results: BatchResultView[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < RESULT_PAGES_MAX; pages++) {
    const page = await admin.batches.results(id, cursor, call);
    results.push(...page.results);
    if (page.next === undefined || page.results.length === 0) break;
    cursor = page.next;
  }
  return results;
}
