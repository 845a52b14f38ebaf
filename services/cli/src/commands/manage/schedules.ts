/** `perdure schedules`: recurring invocations of handlers (docs/schedules.md). A schedule is named by its id or its name. */
import { AdminApiError, isRecord, type ScheduleView } from "@perdure/admin-client";
import { type Command, Option } from "commander";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { action, adminOf } from "./connect.js";
import { editJson } from "./editor.js";
import { noteUndo } from "./operations.js";
import { registerBackfill } from "./schedules-backfill.js";
import { jsonOf, whenOf } from "./texts.js";
import { bodyOf, durationText, headers, wholeNumber } from "./values.js";

export function registerSchedules(program: Command, context: Context): void {
  const schedules = program
    .command("schedules")
    .alias("schedule")
    .helpGroup("Triggers and limits:")
    .description("call handlers at times of a cron expression");
  schedules
    .command("list")
    .alias("ls")
    .option("-s, --service <name>", "those that call this service")
    .addOption(new Option("--status <status>", "those with this status").choices(["active", "paused", "ended"]))
    .description("list them")
    .action(action((flags: { service?: string; status?: string }) => list(context, flags)));
  schedules
    .command("describe")
    .argument("<schedule>", "its id or name")
    .description("show a schedule: cron expression, progress, recent firings")
    .action(action(async (name: string) => describe(context, await find(context, name))));
  registerCreate(schedules, context);
  schedules
    .command("edit")
    .argument("<schedule>", "its id or name")
    .description("change it in your editor")
    .action(action((name: string) => edit(context, name)));
  for (const verb of ["pause", "resume"] as const) {
    schedules
      .command(verb)
      .argument("<schedule>", "its id or name")
      .description(verb === "pause" ? "stop firing until it is resumed" : "continue firing; missed firings are skipped")
      .action(
        action(async (name: string) => {
          const { id } = await find(context, name);
          describe(context, await adminOf(context).schedules.setPaused(id, verb === "pause", context));
        }),
      );
  }
  schedules
    .command("run")
    .argument("<schedule>", "its id or name")
    .option("--idempotency-key <key>", "requests with the same key fire once")
    .description("fire now")
    .action(action((name: string, flags: { idempotencyKey?: string }) => run(context, name, flags.idempotencyKey)));
  registerBackfill(schedules, context, find);
  schedules
    .command("next")
    .argument("<schedule>", "its id or name")
    .option("-n, --count <n>", "how many", wholeNumber(1, 1000))
    .description("show the next times")
    .action(action((name: string, { count }: { count?: number }) => next(context, name, count ?? 10)));
  registerDelete(schedules, context);
}

function registerCreate(schedules: Command, context: Context): void {
  schedules
    .command("create")
    .argument("<name>")
    .argument("<timetable>", "'30 2 * * MON-FRI', '@daily', 'every 15m'")
    .argument("<target>", "Service/handler, or Object/key/handler")
    .argument("[payload]", "JSON; - reads it from stdin")
    .description("make one")
    .option("--zone <name>", "time zone of the expression, e.g. Europe/Berlin; UTC by default")
    .option("-f, --file <path>", "the content of this file is the payload")
    .option("--description <text>", "what it is for")
    .addOption(
      new Option("--overlap <policy>", "when the previous run is not completed").choices([
        "skip",
        "queue",
        "cancel_previous",
        "allow",
      ]),
    )
    .addOption(
      new Option("--catch-up <policy>", "firings that were missed while the server was down").choices(["none", "last", "all"]),
    )
    .option("--jitter <duration>", "delay each firing by a random time up to this", durationText)
    .option("--start-at <time>", "RFC 3339")
    .option("--end-at <time>", "RFC 3339")
    .option("--max-firings <n>", "end after this number of firings", wholeNumber(1))
    .option("-H, --header <name: value>", "passed to the handler; repeatable", headers)
    .option("--paused", "do not fire until it is resumed")
    .action(
      action((name: string, cron: string, target: string, payload: string | undefined, flags: ScheduleCreateFlags) =>
        create(context, { name, cron, target, payload }, flags),
      ),
    );
}

function registerDelete(schedules: Command, context: Context): void {
  schedules
    .command("delete")
    .alias("rm")
    .argument("<schedule>", "its id or name")
    .description("delete a schedule; its invocations continue")
    .action(
      action(async (name: string) => {
        const { id, cron } = await find(context, name);
        if (!context.yes && !(await context.prompts.confirm(`End ${name} (${cron})?`, "--yes")))
          context.fail(FAILED, "Nothing was done");
        const operation = await adminOf(context).schedules.remove(id, context);
        context.output.result({ id, removed: true }, () => context.output.print(`${name} has ended`));
        await noteUndo(context, operation);
      }),
    );
}

/** Finds a schedule by its id, else by its name. */
async function find(context: Context, name: string): Promise<ScheduleView> {
  const { schedules } = adminOf(context);
  if (name.startsWith("sch_")) {
    try {
      return await schedules.get(name, context);
    } catch (cause) {
      // A name may have the form of an id.
      if (!(cause instanceof AdminApiError) || (cause.status !== 404 && cause.status !== 400)) throw cause;
    }
  }
  const [schedule] = await schedules.list({ name }, context);
  return schedule ?? context.fail(FAILED, `There is no schedule '${name}'`, "perdure schedules list");
}

const targetOf = ({ target: { service, key, handler } }: ScheduleView): string =>
  [service, ...(key === undefined || key === null ? [] : [key]), handler].join("/");

async function list(context: Context, query: { service?: string; status?: string }): Promise<void> {
  const schedules = await adminOf(context).schedules.list(query, context);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ schedules }, () =>
    output.table(
      [
        { title: "NAME", show: ({ name }) => name },
        { title: "STATUS", show: ({ status }) => output.paint(status === "active" ? "green" : "magenta", status) },
        { title: "NEXT", show: (row) => whenOf(row.next_at, nowMs) },
        { title: "LAST", show: (row) => whenOf(row.last_fired_at, nowMs) },
        { title: "FIRED", align: "right", show: (row) => String(row.fired_count) },
        { title: "CRON", show: ({ cron, zone }) => `${cron} (${zone})` },
        { title: "TARGET", cutTo: 12, show: targetOf },
      ],
      schedules,
      "No schedules. Create one: perdure schedules create nightly '30 2 * * *' Reports/build",
    ),
  );
}

function describe(context: Context, schedule: ScheduleView): void {
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result(schedule, () => {
    output.facts([
      ["Id", schedule.id],
      ["Name", schedule.name],
      ["About", schedule.description ?? undefined],
      ["Timetable", `${schedule.cron} (${schedule.zone})`],
      ["Target", targetOf(schedule)],
      ["Status", schedule.status],
      ["Next", schedule.next_at === null ? undefined : `${schedule.next_at} (${whenOf(schedule.next_at, nowMs)})`],
      ["Overlap", schedule.overlap],
      ["Catch up", schedule.catch_up],
      [
        "Fired",
        `${schedule.fired_count}; ${schedule.skipped_count} skipped, ${schedule.failed_count} failed, ${schedule.missed_count} missed`,
      ],
    ]);
    for (const { scheduled_at, outcome, invocation_id, detail } of schedule.recent) {
      output.print(
        `  ${scheduled_at}  ${outcome}  ${invocation_id ?? ""}${detail === null || detail === undefined ? "" : ` ${detail}`}`,
      );
    }
  });
}

interface ScheduleCreateFlags {
  readonly zone?: string;
  readonly file?: string;
  readonly description?: string;
  readonly overlap?: string;
  readonly catchUp?: string;
  readonly jitter?: string;
  readonly startAt?: string;
  readonly endAt?: string;
  readonly maxFirings?: number;
  readonly header?: Readonly<Record<string, string>>;
  readonly paused?: boolean;
}

interface NewSchedule {
  readonly name: string;
  readonly cron: string;
  readonly target: string;
  readonly payload: string | undefined;
}

async function create(context: Context, { name, cron, target, payload }: NewSchedule, flags: ScheduleCreateFlags): Promise<void> {
  const [first, last] = [target.indexOf("/"), target.lastIndexOf("/")];
  if (first <= 0 || last === target.length - 1)
    context.fail(USAGE, `'${target}' names no handler`, "Write Service/handler or Object/key/handler.");
  const body = bodyOf(payload, flags.file);
  const value = body === undefined ? undefined : jsonOf(Buffer.from(body).toString());
  if (body !== undefined && value === undefined)
    context.fail(USAGE, "The payload is not valid JSON", `A text needs quotes: '"…"'.`);
  const fields = {
    name,
    cron,
    zone: flags.zone,
    description: flags.description,
    target: {
      service: target.slice(0, first),
      handler: target.slice(last + 1),
      ...(first === last ? {} : { key: target.slice(first + 1, last) }),
    },
    ...(value === undefined ? {} : { payload: value }),
    overlap: flags.overlap,
    catch_up: flags.catchUp,
    jitter: flags.jitter,
    start_at: flags.startAt,
    end_at: flags.endAt,
    max_firings: flags.maxFirings,
    headers: flags.header,
    paused: flags.paused,
  };
  describe(context, await adminOf(context).schedules.create(fields, context));
}

async function edit(context: Context, name: string): Promise<void> {
  const schedule = await find(context, name);
  const edited = editJson(context, name, schedule, "perdure schedules create, delete");
  if (edited === undefined) return context.output.note("Nothing was changed.");
  if (!isRecord(edited)) return context.fail(FAILED, "The saved text is not a JSON object; nothing was changed");
  describe(context, await adminOf(context).schedules.replace(schedule.id, edited, schedule.version, context));
}

async function run(context: Context, name: string, idempotencyKey: string | undefined): Promise<void> {
  const { id } = await find(context, name);
  const { invocationId, isNew } = await adminOf(context).schedules.run(id, idempotencyKey, context);
  const { output } = context;
  output.result({ invocation_id: invocationId, is_new: isNew }, () => {
    output.print(invocationId);
    output.note(`${isNew ? "" : "It was fired with this key before. "}Follow it: perdure invocations watch ${invocationId}`);
  });
}

async function next(context: Context, name: string, count: number): Promise<void> {
  const { id } = await find(context, name);
  const times = await adminOf(context).schedules.next(id, count, context);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ next: times }, () =>
    output.table(
      [
        { title: "UTC", show: ({ at }) => at },
        { title: "LOCAL TIME", show: ({ local }) => local },
        { title: "", show: ({ at }) => whenOf(at, nowMs) },
      ],
      times,
      "It fires no more.",
    ),
  );
}
