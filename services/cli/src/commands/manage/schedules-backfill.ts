/** `perdure schedules backfill`: calls the target of a schedule for past times, after a preview. */
import type { BackfillView, ScheduleView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { action, adminOf } from "./connect.js";

interface BackfillFlags {
  readonly from: string;
  readonly to?: string;
  readonly dryRun?: boolean;
}

type FindSchedule = (context: Context, name: string) => Promise<ScheduleView>;

export function registerBackfill(schedules: Command, context: Context, find: FindSchedule): void {
  schedules
    .command("backfill")
    .argument("<schedule>", "its id or name")
    .requiredOption("--from <time>", "first time, RFC 3339")
    .option("--to <time>", "end of the range, RFC 3339, not included; now by default")
    .option("--dry-run", "list the times and call nothing")
    .description("call the handler for past times; times that already ran are left out")
    .action(
      action(async (name: string, { from, to, dryRun }: BackfillFlags) => {
        const { id } = await find(context, name);
        const { schedules: api } = adminOf(context);
        const range = { from, ...(to === undefined ? {} : { to }) };
        if (dryRun === true || !context.yes) {
          const preview = await api.backfill(id, { ...range, dry_run: true }, context);
          if (dryRun === true) return show(context, preview);
          const { new_count, first, last } = preview;
          if (new_count === 0) return show(context, preview);
          const question = `Call ${name} for ${timesText(new_count)} (${first} to ${last})?`;
          if (!(await context.prompts.confirm(question, "--yes"))) context.fail(FAILED, "Nothing was done");
        }
        show(context, await api.backfill(id, range, context));
      }),
    );
}

function show(context: Context, backfill: BackfillView): void {
  const { output } = context;
  const { times, dry_run, new_count, already_ran_count, failed_count } = backfill;
  output.result(backfill, () => {
    output.table(
      [
        { title: "UTC", show: ({ at }) => at },
        { title: "LOCAL TIME", show: ({ local }) => local },
        { title: "OUTCOME", show: ({ outcome }) => output.paint(COLOURS[outcome] ?? "dim", outcome.replaceAll("_", " ")) },
        { title: "INVOCATION", show: ({ invocation_id }) => invocation_id },
        { title: "", show: ({ detail }) => detail ?? undefined },
      ],
      times,
      "The schedule has no times in this range.",
    );
    const verb = dry_run ? "would be called" : "called";
    const failures = failed_count === 0 ? "" : `, ${failed_count} failed`;
    if (times.length > 0) output.note(`${timesText(new_count)} ${verb}, ${already_ran_count} already ran${failures}`);
  });
}

const COLOURS: Readonly<Record<string, "green" | "red" | "dim">> = { new: "green", failed: "red", already_ran: "dim" };

function timesText(count: number): string {
  return count === 1 ? "1 time" : `${count.toLocaleString("en")} times`;
}
