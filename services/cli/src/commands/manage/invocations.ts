/** `perdure invocations`: list and describe; other files have the operations on them. */
import type { INVOCATION_STATUSES, SqlRow, TimelineView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { registerBatches } from "./batches.js";
import { addChoice, type ChoiceFlags, conditionFor } from "./choice.js";
import { action, adminOf, ingressOf } from "./connect.js";
import { registerCrash } from "./crash.js";
import { listStatement } from "./invocation-rows.js";
import { LIST_ROWS_DEFAULT, LIST_ROWS_MAX } from "./limits.js";
import { bytesJson, bytesText, firstLine, textOf, whenOf } from "./texts.js";
import { forkText, timelineLines } from "./timeline-lines.js";
import { wholeTimeline } from "./timeline-pages.js";
import { invocationId, wholeNumber } from "./values.js";
import { registerVerbs } from "./verbs.js";
import { watch } from "./watch.js";

export function registerInvocations(program: Command, context: Context): void {
  const invocations = program
    .command("invocations")
    .alias("invocation")
    .alias("inv")
    .helpGroup("Services and invocations:")
    .description("invocations: list, watch, cancel, resume, restart …");
  addChoice(invocations.command("list").alias("ls").description("list invocations, newest first; completed ones with --all"))
    .option("-a, --all", "completed ones as well")
    .option("-n, --limit <rows>", `maximum number of rows; ${LIST_ROWS_DEFAULT} by default`, wholeNumber(1, LIST_ROWS_MAX))
    .action(action((flags: InvocationListFlags) => list(context, flags)));
  invocations
    .command("describe")
    .argument("<id>", "", invocationId)
    .description("show an invocation: what it waits for, its attempts and steps")
    .option("--payloads", "show the beginning of payloads as well")
    .action(action((id: string, { payloads }: { payloads?: boolean }) => describe(context, id, payloads === true)));
  invocations
    .command("watch")
    .argument("<id>", "", invocationId)
    .description("follow an invocation until it ends: attempts, steps, sleeps, calls, waits, retries")
    .action(action((id: string) => watch(context, id)));
  invocations
    .command("result")
    .argument("<id>", "", invocationId)
    .description("wait for an invocation's end and print its result")
    .option("--no-wait", "fail when it is not completed")
    .action(action((id: string, { wait }: { wait: boolean }) => result(context, id, wait)));
  registerVerbs(invocations, context);
  registerCrash(invocations, context);
  registerBatches(invocations, context);
}

interface InvocationListFlags extends ChoiceFlags {
  readonly all?: boolean;
  readonly limit?: number;
}

async function list(context: Context, flags: InvocationListFlags): Promise<void> {
  const includesCompleted = flags.all === true || flags.status !== undefined || flags.failed === true || flags.succeeded === true;
  const condition = conditionFor(flags, [], context);
  const limit = flags.limit ?? LIST_ROWS_DEFAULT;
  const statement = listStatement(condition, includesCompleted || flags.where !== undefined, limit + 1);
  const allRows = await adminOf(context).sql.query(statement, context);
  const rows = allRows.slice(0, limit);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ invocations: rows, more: allRows.length > limit }, () => {
    output.table(
      [
        { title: "ID", show: (row) => textOf(row, "id") },
        { title: "STATUS", show: (row) => painted(context, row) },
        { title: "CREATED", show: (row) => whenOf(textOf(row, "created_at"), nowMs) },
        { title: "TARGET", cutTo: 12, show: (row) => textOf(row, "target") },
        { title: "DETAILS", cutTo: 12, show: (row) => remarkOf(row, nowMs) ?? "" },
      ],
      rows,
      includesCompleted ? "No invocations." : "No invocations that are not completed. --all shows those too.",
    );
    if (allRows.length > limit) output.note(`There are more. --limit ${limit * 10} shows more of them.`);
  });
}

const COLOURS = new Map(
  Object.entries({
    pending: "dim",
    scheduled: "blue",
    ready: "cyan",
    running: "green",
    "backing-off": "yellow",
    suspended: "cyan",
    paused: "magenta",
    completed: "dim",
  } as const satisfies Record<(typeof INVOCATION_STATUSES)[number], string>),
);

function painted({ output }: Context, row: SqlRow): string {
  const status = textOf(row, "status") ?? "";
  const failed = textOf(row, "completion_result") === "failure";
  if (status === "completed") return output.paint(failed ? "red" : "dim", failed ? "failed" : "completed");
  const colour = COLOURS.get(status);
  return colour === undefined ? status : output.paint(colour, status);
}

/** Further facts about the invocation, on one line. */
function remarkOf(row: SqlRow, nowMs: number): string | undefined {
  const status = textOf(row, "status");
  if (status === "completed") return firstLine(textOf(row, "completion_failure"));
  if (status === "scheduled") return `starts ${whenOf(textOf(row, "scheduled_start_at"), nowMs)}`;
  const failure = firstLine(textOf(row, "last_failure"), 80);
  if (failure === undefined) return undefined;
  const code = textOf(row, "last_failure_error_code");
  const next = textOf(row, "next_retry_at");
  const when = next === undefined ? "" : `, next ${whenOf(next, nowMs)}`;
  return `attempt ${textOf(row, "retry_count") ?? "?"}${when}: ${code === undefined ? "" : `${code} `}${failure}`;
}

/** Undefined when it was not debounced. */
function debounceText({ debounce }: TimelineView, nowMs: number): string | undefined {
  if (debounce === undefined) return undefined;
  const { key, sends, latest_start_at: latest } = debounce;
  return `${sends} ${sends === 1 ? "send" : "sends"}${key === "" ? "" : ` with the key '${key}'`}, latest start ${whenOf(latest, nowMs)}`;
}

async function describe(context: Context, id: string, payloads: boolean): Promise<void> {
  const admin = adminOf(context);
  const row = await admin.invocations.row(id, context);
  if (row === undefined)
    context.fail(
      FAILED,
      `There is no invocation ${id}`,
      "Completed invocations are deleted after their retention. perdure invocations list --all",
    );
  const [explanation, timeline] = await Promise.all([
    admin.invocations.explain(id, context),
    wholeTimeline(admin, id, payloads, context),
  ]);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ invocation: row, explanation, timeline }, () => {
    output.facts([
      ["Id", id],
      ["Target", textOf(row, "target")],
      ["Status", painted(context, row)],
      [
        "Made",
        `${textOf(row, "created_at")} (${whenOf(textOf(row, "created_at"), nowMs)}), by ${textOf(row, "invoked_by_target") ?? textOf(row, "invoked_by")}`,
      ],
      ["Called by", textOf(row, "invoked_by_id")],
      ["Idempotency key", textOf(row, "idempotency_key")],
      ["Debounced", debounceText(timeline, nowMs)],
      ["Restarted from", timeline.fork === undefined ? textOf(row, "restarted_from") : undefined],
      ["Forked from", timeline.fork === undefined ? undefined : forkText(timeline.fork)],
      ["Scope", textOf(row, "scope")],
      ["Limit key", textOf(row, "limit_key")],
      ["Deployment", textOf(row, "pinned_deployment_id")],
      ["Failure", firstLine(textOf(row, "completion_failure") ?? textOf(row, "last_failure"), 300)],
    ]);
    output.print();
    output.print(explanation.sentence);
    for (const { request, effect } of explanation.remedies) output.print(output.paint("dim", `  ${request}: ${effect}`));
    output.print();
    for (const line of timelineLines(timeline, { paint: (style, text) => output.paint(style, text) })) output.print(line);
  });
}

async function result(context: Context, id: string, wait: boolean): Promise<void> {
  const ingress = ingressOf(context);
  const outcome = wait ? await ingress.attach(id, context) : await ingress.output(id, context);
  if (outcome === undefined) return context.fail(FAILED, `${id} still runs`, `perdure invocations watch ${id}`);
  const { output } = context;
  output.result({ invocation_id: id, result: bytesJson(outcome.body) }, () => output.value(bytesText(outcome.body, 2)));
}
