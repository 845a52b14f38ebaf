/** `perdure undo` and `perdure operations`: changes that can be undone for a while. */
import type { OperationView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { showDuration } from "../../output/index.js";
import { pause } from "../../pause.js";
import { failuresOf } from "./batches.js";
import { action, adminOf, harmless } from "./connect.js";
import { BATCH_PAUSE_MS, FAILURES_SHOWN_MAX } from "./limits.js";
import { invocationsText, whenOf } from "./texts.js";

export function registerOperations(program: Command, context: Context): void {
  program
    .command("undo")
    .helpGroup("Services and invocations:")
    .argument("<operation>")
    .description("undo a kill, a cancellation, a purge, a pause or a resumption of invocations, a state edit or a deletion")
    .action(action((id: string) => undo(context, id)));
  const operations = program
    .command("operations")
    .helpGroup("Services and invocations:")
    .description("changes that can be undone");
  operations
    .command("list", { isDefault: true })
    .alias("ls")
    .description("list changes that can be undone, and those of the last hour")
    .action(action(() => list(context)));
  operations
    .command("describe")
    .argument("<operation>")
    .description("show a change, the time left to undo it, and the state of its undo")
    .action(
      action(async (id: string) => {
        const operation = await adminOf(context).operations.get(id, context);
        context.output.result(operation, () => print(context, operation));
      }),
    );
}

/** Prints how a change can be undone; nothing when the server keeps nothing. */
export async function noteUndo(context: Context, id: string | undefined): Promise<void> {
  if (id === undefined || context.output.isJson) return;
  const { state, undo_left_ms: leftMs } = await adminOf(context).operations.get(id, context);
  if (state === "undoable") context.output.note(`Undo it within ${showDuration(leftMs)}: perdure undo ${harmless(id)}`);
}

async function undo(context: Context, id: string): Promise<void> {
  const { operations } = adminOf(context);
  const { output } = context;
  let operation = await operations.undo(id, context);
  await output.during(`undo ${id}`, async () => {
    while (operation.state === "undoing") {
      await pause(context, BATCH_PAUSE_MS);
      operation = await operations.get(id, context);
    }
  });
  const batchId = operation.undo?.batch_id ?? undefined;
  const failed = operation.undo?.failed ?? 0;
  const failures = failed === 0 || batchId === undefined ? [] : await failuresOf(context, batchId);
  output.result({ ...operation, failures }, () => {
    output.print(outcomeOf(operation));
    for (const sentence of operation.undo?.cannot_be_undone ?? []) output.print(`  ${harmless(sentence)}`);
    for (const { invocation_id, error } of failures.slice(0, FAILURES_SHOWN_MAX))
      output.print(`  ${output.paint("red", "✘")} ${invocation_id}: ${error ?? ""}`);
  });
  if (failed > 0 && operation.subject === null)
    context.fail(FAILED, `${invocationsText(failed)} could not be ${verbOf(operation)}`);
}

function outcomeOf({ operation, subject, undo }: OperationView): string {
  const { undone = 0, failed = 0 } = undo ?? {};
  if (subject !== null) return undone > 0 ? `${harmless(subject)} restored` : `${harmless(subject)} not restored`;
  return `${invocationsText(undone)} ${verbOf({ operation })}${failed > 0 ? `, ${failed} not` : ""}`;
}

/** What an undo does to invocations. */
function verbOf({ operation }: Pick<OperationView, "operation">): "ended" | "restored" {
  return operation === "restart-as-new" ? "ended" : "restored";
}

function subjectOf({ subject, invocation_id: invocation, matched }: OperationView): string {
  return subject ?? invocation ?? invocationsText(matched);
}

async function list(context: Context): Promise<void> {
  const operations = await adminOf(context).operations.list(context);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ operations }, () =>
    output.table(
      [
        { title: "ID", show: ({ id }) => id },
        { title: "OPERATION", show: ({ operation }) => operation },
        { title: "OF", show: subjectOf },
        { title: "STARTED", show: (row) => whenOf(row.started_at, nowMs) },
        { title: "STATE", show: ({ state }) => state },
        { title: "LEFT", show: (row) => (row.undo_left_ms > 0 ? showDuration(row.undo_left_ms) : "") },
        { title: "BY", show: (row) => row.started_by ?? "" },
        { title: "REASON", cutTo: 12, show: ({ reason }) => reason ?? "" },
      ],
      operations,
      "Nothing can be undone, and nothing could within the last hour.",
    ),
  );
}

function print({ output }: Context, operation: OperationView): void {
  output.facts([
    ["Id", operation.id],
    ["Operation", operation.operation],
    ["Of", subjectOf(operation)],
    ["Batch", operation.batch_id ?? undefined],
    ["Started", operation.started_at],
    ["By", operation.started_by ?? undefined],
    ["Reason", operation.reason ?? undefined],
    ["State", operation.state],
    ["Time left", operation.undo_left_ms > 0 ? showDuration(operation.undo_left_ms) : undefined],
    ["Undone", operation.undo === null ? undefined : `${operation.undo.undone}, failed ${operation.undo.failed}`],
  ]);
  for (const sentence of operation.undo?.cannot_be_undone ?? []) output.print(`  ${harmless(sentence)}`);
}
