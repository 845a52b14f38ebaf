/** `perdure audit`: lists and exports the changes in an account. */
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { EnvironmentId } from "@perdure/cloud";
import { type Command, Option } from "commander";
import { chooseAccount, narrowedTo } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { AUDIT_EVENTS_MAX } from "../../limits.js";
import { timeBefore, wholeNumber } from "../../options.js";
import { showTime } from "../../output/index.js";

interface FilterFlags {
  readonly environment?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly from?: number;
  readonly to?: number;
}

interface AuditListFlags extends FilterFlags {
  readonly limit: number;
}

interface ExportFlags extends FilterFlags {
  readonly format: "jsonl" | "csv";
  readonly out?: string;
}

export function register(program: Command, context: Context): void {
  const audit = program.command("audit").helpGroup("Cloud:").description("changes in the account in use");
  const filtered = (command: Command): Command =>
    command
      .option("--environment <environment>", "one environment: [ACCOUNT/]ENV")
      .option("--actor <id>", "one actor: user_…")
      .option("--action <name>", "one action: environment.create …")
      .option("--from <time>", "duration or date", timeBefore(context.clock))
      .option("--to <time>", "duration or date", timeBefore(context.clock));
  filtered(audit.command("list", { isDefault: true }).description("changes, newest first"))
    .option("--limit <n>", "maximum number of rows", wholeNumber(1, AUDIT_EVENTS_MAX), 50)
    .action((flags: AuditListFlags) => list(context, flags));
  filtered(audit.command("export").description("export all changes to a file, newest first"))
    .addOption(new Option("--format <format>").choices(["jsonl", "ndjson", "csv"]).default("jsonl").argParser(formatOf))
    .option("-o, --out <file>", "file (default: stdout)")
    .action((flags: ExportFlags) => exportAll(context, flags));
}

/** `ndjson` is another name of `jsonl`. */
function formatOf(text: string): string {
  return text === "ndjson" ? "jsonl" : text;
}

async function filterOf(context: Context, flags: FilterFlags) {
  const client = context.session.client();
  const target = await narrowedTo(context, client, flags.environment);
  const { accountId } = await chooseAccount(context, client, target?.accountId ?? context.requestedAccount);
  const environmentId: EnvironmentId | undefined = target?.environmentId;
  const filter = {
    ...(environmentId === undefined ? {} : { environmentId }),
    ...(flags.actor === undefined ? {} : { actorId: flags.actor }),
    ...(flags.action === undefined ? {} : { action: flags.action }),
    ...(flags.from === undefined ? {} : { from: flags.from }),
    ...(flags.to === undefined ? {} : { to: flags.to }),
  };
  return { client, accountId, filter };
}

const PAGE = 500;

async function list(context: Context, flags: AuditListFlags): Promise<void> {
  const { output } = context;
  const { client, accountId, filter } = await filterOf(context, flags);
  const fetchPage = async (limit: number, before: number | undefined) => {
    const body = { ...filter, limit, ...(before === undefined ? {} : { before }) };
    return await client.account(accountId, "ListAuditEvents", body, { signal: context.signal });
  };
  let page = await fetchPage(Math.min(PAGE, flags.limit), undefined);
  const events = [...page.events];
  while (page.before !== undefined && events.length < flags.limit) {
    page = await fetchPage(Math.min(PAGE, flags.limit - events.length), page.before);
    events.push(...page.events);
  }
  output.result({ events, before: page.before }, () =>
    output.table(
      [
        { title: "AT", show: ({ at }) => showTime(at) },
        { title: "ACTOR", show: ({ actorKind, actorId }) => (actorKind === "system" ? `(${actorId})` : actorId) },
        { title: "ACTION", show: ({ action }) => action },
        { title: "TARGET", cutTo: 12, show: ({ target, environmentId }) => target ?? environmentId },
        { title: "FROM", show: ({ remoteAddress }) => remoteAddress },
        {
          title: "DETAILS",
          cutTo: 12,
          show: ({ details }) => (Object.keys(details).length === 0 ? undefined : JSON.stringify(details)),
        },
      ],
      events,
      "Nothing was changed.",
    ),
  );
}

async function exportAll(context: Context, flags: ExportFlags): Promise<void> {
  const { client, accountId, filter } = await filterOf(context, flags);
  const body = { ...filter, format: flags.format };
  const file = await client.exportAuditEvents(accountId, body, { signal: context.signal });
  const bytes = Readable.from(file);
  if (flags.out === undefined) {
    await pipeline(bytes, process.stdout, { end: false });
    return;
  }
  await pipeline(bytes, createWriteStream(flags.out, { mode: 0o600 }), { signal: context.signal });
  context.output.result({ file: flags.out, format: flags.format }, () => context.output.note(`Wrote ${flags.out}.`));
}
