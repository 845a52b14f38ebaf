/** `perdure rules` and `perdure queues`: limits of flow control (docs/flow-control.md), waiting invocations, paused queues. */

import { type RuleUpsert, type SqlRow, sqlText } from "@perdure/admin-client";
import { present } from "@perdure/base";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { action, adminOf } from "./connect.js";
import { LIST_ROWS_DEFAULT, LIST_ROWS_MAX } from "./limits.js";
import { noteUndo } from "./operations.js";
import { numberOf, textOf, whenOf } from "./texts.js";
import { durationText, rulePattern, wholeNumber } from "./values.js";

export function registerRules(program: Command, context: Context): void {
  const rules = program
    .command("rules")
    .alias("rule")
    .helpGroup("Triggers and limits:")
    .description("limits of scopes: concurrency, rate, weight, priority");
  rules
    .command("list")
    .alias("ls")
    .description("list them")
    .action(action(() => list(context)));
  rules
    .command("set")
    .argument("<pattern>", "acme, 'acme/*', '*/*/*'", rulePattern)
    .description("create or change a rule; options that are not given are unchanged")
    .option("--concurrency <n>", "maximum number of running invocations", wholeNumber(1))
    .option("--unlimited", "no limit of concurrency")
    .option("--rate <n/duration>", "maximum number of starts in a time, e.g. 100/1m; or none")
    .option("--burst <n>", "maximum number of starts at once", wholeNumber(1))
    .option("--weight <n>", "share relative to rules of the same level", wholeNumber(1, 1000))
    .option("--priority <n>", "1 is the highest, 5 the lowest", wholeNumber(1, 5))
    .option("--description <text>", "what it is for")
    .option("--new", "fail when the rule exists")
    .action(action((pattern: string, flags: RuleSetFlags) => set(context, pattern, flags)));
  for (const verb of ["enable", "disable"] as const) {
    rules
      .command(verb)
      .argument("<pattern>", "", rulePattern)
      .description(verb === "disable" ? "disable a rule until it is enabled" : "enable a rule")
      .action(action((pattern: string) => set(context, pattern, { disabled: verb === "disable", mustExist: true })));
  }
  rules
    .command("remove")
    .alias("rm")
    .argument("<patterns...>")
    .description("remove rules; invocations that wait for them may start")
    .action(action((patterns: readonly string[]) => remove(context, patterns)));
  rules
    .command("usage")
    .description("show the current usage of each limit")
    .action(action(() => usage(context)));
  const queues = program
    .command("queues")
    .alias("vqueues")
    .helpGroup("Triggers and limits:")
    .description("queues of invocations that wait for a slot or a lock");
  queues
    .command("list")
    .alias("ls")
    .option("-n, --limit <rows>", "maximum number of rows", wholeNumber(1, LIST_ROWS_MAX))
    .description("list queues with waiting invocations, longest first")
    .action(action(({ limit }: { limit?: number }) => listQueues(context, limit ?? LIST_ROWS_DEFAULT)));
  queues
    .command("describe")
    .argument("<queue>", "vq_…")
    .option("-n, --limit <rows>", "maximum number of rows", wholeNumber(1, LIST_ROWS_MAX))
    .description("show the invocations of a queue, in order")
    .action(action((id: string, { limit }: { limit?: number }) => describeQueue(context, id, limit ?? LIST_ROWS_DEFAULT)));
  for (const verb of ["pause", "resume"] as const) {
    queues
      .command(verb)
      .argument("<queue>", "vq_…")
      .description(
        verb === "pause" ? "start no further invocations of a queue; running ones continue" : "start its invocations again",
      )
      .action(
        action(async (id: string) => {
          await adminOf(context).rules.setQueuePaused(id, verb === "pause", context);
          context.output.result({ id, paused: verb === "pause" }, () => context.output.print(`${id} is ${verb}d`));
        }),
      );
  }
}

async function list(context: Context): Promise<void> {
  const { sql } = adminOf(context);
  const [rules, rates] = await Promise.all([
    sql.query(
      "SELECT pattern, concurrency, description, disabled, version, last_modified FROM sys_rules ORDER BY pattern",
      context,
    ),
    sql.query("SELECT DISTINCT pattern, rate_limit, rate_period, burst, weight, priority FROM sys_rate_limits", context),
  ]);
  const rateOf = new Map(rates.map((row) => [textOf(row, "pattern"), row]));
  const rows = rules.map((rule): SqlRow => ({ ...rule, ...rateOf.get(textOf(rule, "pattern")) }));
  const { output } = context;
  output.result({ rules: rows }, () =>
    output.table(
      [
        { title: "PATTERN", show: (row) => textOf(row, "pattern") },
        { title: "CONCURRENCY", align: "right", show: (row) => textOf(row, "concurrency") ?? "any" },
        {
          title: "RATE",
          show: (row) =>
            textOf(row, "rate_limit") === undefined ? "–" : `${textOf(row, "rate_limit")} per ${textOf(row, "rate_period")}`,
        },
        { title: "WEIGHT", align: "right", show: (row) => textOf(row, "weight") },
        { title: "PRIORITY", align: "right", show: (row) => textOf(row, "priority") },
        {
          title: "DESCRIPTION",
          cutTo: 12,
          show: (row) =>
            [row["disabled"] === true ? "disabled" : "", textOf(row, "description") ?? ""].filter(Boolean).join(": "),
        },
      ],
      rows,
      "No rules: nothing is limited. Create one: perdure rules set 'acme/*' --concurrency 2",
    ),
  );
}

interface RuleSetFlags {
  readonly concurrency?: number;
  readonly unlimited?: boolean;
  readonly rate?: string;
  readonly burst?: number;
  readonly weight?: number;
  readonly priority?: number;
  readonly description?: string;
  readonly new?: boolean;
  readonly disabled?: boolean;
  readonly mustExist?: boolean;
}

async function set(context: Context, pattern: string, flags: RuleSetFlags): Promise<void> {
  const admin = adminOf(context);
  if (flags.concurrency !== undefined && flags.unlimited === true)
    context.fail(USAGE, "--concurrency and --unlimited exclude each other");
  if (flags.burst !== undefined && flags.rate === undefined) context.fail(USAGE, "--burst belongs to --rate");
  const { new: _isNew, ...settings } = flags;
  if (Object.keys(settings).length === 0)
    context.fail(USAGE, "Nothing to set: no limit was named", `For example: perdure rules set '${pattern}' --concurrency 2`);
  const existing = await findRule(context, pattern);
  if (flags.mustExist === true && existing === undefined)
    context.fail(FAILED, `There is no rule '${pattern}'`, "perdure rules list");
  const description = flags.description ?? existing?.description;
  // The API replaces these fields, so a change of the rate keeps the present limit.
  const concurrency = flags.concurrency ?? (flags.unlimited === true ? null : (existing?.concurrency ?? null));
  const change: RuleUpsert = {
    pattern,
    limits: { concurrency, ...(flags.rate === undefined ? {} : { rate: rateOf(context, flags.rate, flags.burst) }) },
    ...(flags.weight === undefined ? {} : { weight: flags.weight }),
    ...(flags.priority === undefined ? {} : { priority: flags.priority }),
    ...(description === undefined ? {} : { description }),
    disabled: flags.disabled ?? existing?.disabled ?? false,
    precondition:
      existing === undefined || flags.new === true ? { type: "does_not_exist" } : { type: "matches", version: existing.version },
  };
  const [rule] = await admin.rules.put([change], context);
  const { output } = context;
  output.result(rule, () => {
    output.facts([
      ["Pattern", rule?.pattern],
      ["At once", String(rule?.limits.concurrency ?? "any")],
      [
        "Rate",
        rule?.limits.rate === undefined || rule.limits.rate === null
          ? undefined
          : `${rule.limits.rate.limit} per ${rule.limits.rate.per}, ${rule.limits.rate.burst} at once`,
      ],
      ["Weight", rule?.weight === undefined ? undefined : String(rule.weight)],
      ["Priority", rule?.priority === undefined ? undefined : String(rule.priority)],
      ["State", rule?.disabled === true ? "disabled" : "holds"],
      ["Version", String(rule?.version)],
    ]);
  });
}

interface ExistingRule {
  readonly concurrency: number | undefined;
  readonly description: string | undefined;
  readonly disabled: boolean;
  readonly version: number;
}

async function findRule(context: Context, pattern: string): Promise<ExistingRule | undefined> {
  const statement = `SELECT concurrency, description, disabled, version FROM sys_rules WHERE pattern = ${sqlText(pattern)}`;
  const [row] = await adminOf(context).sql.query(statement, context);
  if (row === undefined) return undefined;
  const { disabled, version } = row;
  return {
    concurrency: numberOf(row, "concurrency"),
    description: textOf(row, "description"),
    disabled: disabled === true,
    version: Number(version),
  };
}

function rateOf(
  context: Context,
  text: string,
  burst: number | undefined,
): { limit: number; per: string; burst?: number } | null {
  if (text === "none") return null;
  const match = /^(\d+)\s*\/\s*(.+)$/.exec(text);
  if (match === null) return context.fail(USAGE, `'${text}' is not a rate`, "Write it as 100/1m: a number per time.");
  const per = /^\d/.test(present(match[2])) ? present(match[2]) : `1${match[2]}`;
  return { limit: Number(match[1]), per: durationText(per), ...(burst === undefined ? {} : { burst }) };
}

async function remove(context: Context, patterns: readonly string[]): Promise<void> {
  if (!context.yes && !(await context.prompts.confirm(`Remove ${patterns.join(", ")}?`, "--yes")))
    context.fail(FAILED, "Nothing was done");
  const { removed, operation } = await adminOf(context).rules.remove(patterns, context);
  context.output.result({ removed }, () =>
    context.output.print(removed.length === 0 ? "No such rules." : `Removed: ${removed.join(", ")}`),
  );
  await noteUndo(context, operation);
}

async function usage(context: Context): Promise<void> {
  const rows = await adminOf(context).sql.query(
    "SELECT scope, l1, l2, level, usage, concurrency_limit, rule_pattern, num_waiters FROM sys_user_limits ORDER BY scope, l1, l2",
    context,
  );
  const { output } = context;
  output.result({ usage: rows }, () =>
    output.table(
      [
        { title: "SCOPE", show: (row) => textOf(row, "scope") },
        {
          title: "LIMIT KEY",
          show: (row) => [textOf(row, "l1"), textOf(row, "l2")].filter((part) => part !== undefined).join("/"),
        },
        { title: "RUNNING", align: "right", show: (row) => textOf(row, "usage") },
        { title: "LIMIT", align: "right", show: (row) => textOf(row, "concurrency_limit") ?? "any" },
        { title: "QUEUES WAITING", align: "right", show: (row) => textOf(row, "num_waiters") },
        { title: "RULE", show: (row) => textOf(row, "rule_pattern") },
      ],
      rows,
      "No scope is in use.",
    ),
  );
}

async function listQueues(context: Context, limit: number): Promise<void> {
  const { sql } = adminOf(context);
  const [queues, metas] = await Promise.all([
    sql.query(
      `SELECT id, num_inbox, status, head_entry_id, blocked_on, blocked_on_json, scheduled_at FROM sys_scheduler ORDER BY num_inbox DESC LIMIT ${limit}`,
      context,
    ),
    sql.query(
      "SELECT id, queue_is_paused, service_name, scope, limit_key, lock_name FROM sys_vqueue_meta WHERE is_active OR queue_is_paused",
      context,
    ),
  ]);
  const waiting = new Map(queues.map((row) => [textOf(row, "id"), row]));
  const metaOf = new Map(metas.map((row) => [textOf(row, "id"), row]));
  const paused = metas.filter((row) => row["queue_is_paused"] === true && !waiting.has(textOf(row, "id")));
  const rows = [...queues, ...paused].slice(0, limit).map((row): SqlRow => ({ ...row, ...metaOf.get(textOf(row, "id")) }));
  const { output, clock } = context;
  output.result({ queues: rows }, () =>
    output.table(
      [
        { title: "ID", show: (row) => textOf(row, "id") },
        { title: "WAITING", align: "right", show: (row) => textOf(row, "num_inbox") ?? "0" },
        {
          title: "WAITS FOR",
          show: (row) =>
            row["queue_is_paused"] === true
              ? output.paint("magenta", "paused")
              : (textOf(row, "blocked_on") ?? whenOf(textOf(row, "scheduled_at"), clock.nowMs())),
        },
        { title: "SERVICE OR LOCK", show: (row) => textOf(row, "lock_name") ?? textOf(row, "service_name") },
        {
          title: "SCOPE",
          show: (row) => [textOf(row, "scope"), textOf(row, "limit_key")].filter((part) => part !== undefined).join(" "),
        },
        { title: "HEAD", show: (row) => textOf(row, "head_entry_id") },
      ],
      rows,
      "Nothing waits in a queue.",
    ),
  );
}

async function describeQueue(context: Context, id: string, limit: number): Promise<void> {
  const entries = await adminOf(context).sql.query(
    `SELECT entry_id, entry_kind, stage, status, has_lock, created_at, run_at FROM sys_vqueues WHERE id = ${sqlText(id)} ORDER BY sequence_number LIMIT ${limit}`,
    context,
  );
  // A queue exists only while it has invocations, so a mistyped id and an empty queue cannot be distinguished.
  if (entries.length === 0) context.fail(FAILED, `There is no queue '${id}', or nothing is in it`, "See: perdure queues list");
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ id, entries }, () =>
    output.table(
      [
        { title: "INVOCATION", show: (row) => textOf(row, "entry_id") },
        { title: "STAGE", show: (row) => textOf(row, "stage") },
        { title: "STATUS", show: (row) => textOf(row, "status") },
        { title: "LOCK", show: (row) => (row["has_lock"] === true ? "has it" : "") },
        { title: "SINCE", show: (row) => whenOf(textOf(row, "created_at"), nowMs) },
      ],
      entries,
      "This queue is empty.",
    ),
  );
}
