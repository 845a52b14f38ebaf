/** Commands for batch operations, which run on the server: follow, show, cancel. */
import type { BatchResultView, BatchView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { pause } from "../../pause.js";
import { action, adminOf } from "./connect.js";
import { BATCH_PAUSE_MS, RESULT_PAGES_MAX } from "./limits.js";
import { firstLine, whenOf } from "./texts.js";

export function registerBatches(invocations: Command, context: Context): void {
  const batches = invocations.command("batches").alias("batch").description("operations on many invocations");
  batches
    .command("list")
    .alias("ls")
    .description("list batches that run or ended within a day")
    .action(action(() => list(context)));
  batches
    .command("describe")
    .argument("<batch>")
    .description("show a batch, with the invocations that were refused")
    .action(action((id: string) => describe(context, id)));
  batches
    .command("follow")
    .argument("<batch>")
    .description("wait until a batch ends")
    .action(
      action(async (id: string) => {
        const batch = await followBatch(context, await adminOf(context).batches.get(id, context), `batch ${id}`);
        context.output.result(batch, () => context.output.print(lineOf(batch)));
      }),
    );
  batches
    .command("cancel")
    .argument("<batch>")
    .description("stop a batch; what is done stays done")
    .action(
      action(async (id: string) => {
        const batch = await adminOf(context).batches.cancel(id, context);
        context.output.result(batch, () => context.output.print(lineOf(batch)));
      }),
    );
}

const lineOf = ({ state, succeeded, failed, remaining }: BatchView): string =>
  `${state}: ${succeeded} done, ${failed} refused, ${remaining} left`;

async function list(context: Context): Promise<void> {
  const batches = await adminOf(context).batches.list(context);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ batches }, () =>
    output.table(
      [
        { title: "ID", show: ({ id }) => id },
        { title: "OPERATION", show: ({ operation }) => operation },
        { title: "STATE", show: ({ state }) => state },
        { title: "DONE", align: "right", show: (row) => `${row.done}/${row.matched}` },
        { title: "REFUSED", align: "right", show: ({ failed }) => String(failed) },
        { title: "STARTED", show: (row) => whenOf(row.started_at, nowMs) },
        { title: "BY", show: (row) => row.started_by ?? "" },
        { title: "REASON", cutTo: 12, show: ({ reason, filter }) => reason ?? firstLine(filter ?? "", 60) },
      ],
      batches,
      "No batches run, and none has ended within a day.",
    ),
  );
}

async function describe(context: Context, id: string): Promise<void> {
  const batch = await adminOf(context).batches.get(id, context);
  const failures = batch.failed === 0 ? [] : await failuresOf(context, id);
  const { output } = context;
  output.result({ ...batch, failures }, () => {
    output.facts([
      ["Id", batch.id],
      ["Does", batch.operation],
      ["State", lineOf(batch)],
      ["Filter", batch.filter ?? undefined],
      ["Begun", batch.started_at],
      ["Ended", batch.finished_at ?? undefined],
      ["By", batch.started_by ?? undefined],
      ["Reason", batch.reason ?? undefined],
    ]);
    for (const { invocation_id, error } of failures)
      output.print(`  ${output.paint("red", "✘")} ${invocation_id}: ${error ?? ""}`);
  });
}

/** Resolves with the batch when it has ended. When the command is interrupted, the batch continues, and a note says so. */
export async function followBatch(context: Context, begun: BatchView, what: string): Promise<BatchView> {
  const { batches } = adminOf(context);
  let batch = begun;
  const { output } = context;
  try {
    return await output.during(what, async (progress) => {
      while (batch.state === "running") {
        await pause(context, BATCH_PAUSE_MS);
        batch = await batches.get(batch.id, context);
        const percent = batch.matched === 0 ? 100 : Math.floor((batch.done / batch.matched) * 100);
        if (output.isTerminal) progress.step(`${what}: ${batch.done} of ${batch.matched} (${percent} %)`);
      }
      return batch;
    });
  } catch (cause) {
    if (context.signal.aborted) {
      output.note(
        `The batch continues in the server. Follow it: perdure invocations batches follow ${batch.id}; stop it: … cancel ${batch.id}`,
      );
    }
    throw cause;
  }
}

/** Failed results, from the first pages. */
export async function failuresOf(context: Context, id: string): Promise<readonly BatchResultView[]> {
  const { batches } = adminOf(context);
  const failures: BatchResultView[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < RESULT_PAGES_MAX; pages++) {
    const page = await batches.results(id, cursor, context);
    for (const result of page.results) if (result.result === "failed") failures.push(result);
    if (page.next === undefined || page.results.length === 0) break;
    cursor = page.next;
  }
  return failures;
}
