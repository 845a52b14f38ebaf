/** `perdure usage`: usage of the account by day, and its share of the plan. */
import { type Command, InvalidArgumentError } from "commander";
import { chooseAccount, listEnvironments, narrowedTo } from "../../cloud/index.js";
import type { Context } from "../../context.js";
import { showBytes, showCount } from "../../output/index.js";

interface UsageFlags {
  readonly from?: string;
  readonly to?: string;
  readonly environment?: string;
}

export function register(program: Command, context: Context): void {
  program
    .command("usage")
    .helpGroup("Cloud:")
    .description("usage of the account in use, this month by default")
    .option("--environment <environment>", "one environment: [ACCOUNT/]ENV")
    .option("--from <day>", "first day, in UTC: 2026-11-01", day)
    .option("--to <day>", "last day", day)
    .action((flags: UsageFlags) => usage(context, flags));
}

async function usage(context: Context, flags: UsageFlags): Promise<void> {
  const { output } = context;
  const client = context.session.client();
  const target = await narrowedTo(context, client, flags.environment);
  const account = await chooseAccount(context, client, target?.accountId ?? context.requestedAccount);
  const body = {
    ...(target === undefined ? {} : { environmentId: target.environmentId }),
    ...(flags.from === undefined ? {} : { from: flags.from }),
    ...(flags.to === undefined ? {} : { to: flags.to }),
  };
  const answer = await client.account(account.accountId, "GetUsage", body, { signal: context.signal });
  const names = new Map(
    (await listEnvironments(context, client, account)).map(({ environmentId, name }) => [environmentId, name]),
  );
  output.result(answer, () => {
    const { totals, actionsPerMonth } = answer;
    output.table(
      [
        { title: "DAY", show: (row) => row.day },
        { title: "ENVIRONMENT", show: (row) => names.get(row.environmentId) ?? row.environmentId },
        { title: "ACTIONS", show: (row) => showCount(row.actions), align: "right" },
        { title: "INGRESS", show: (row) => showCount(row.ingressRequests), align: "right" },
        { title: "ADMIN", show: (row) => showCount(row.adminRequests), align: "right" },
        { title: "IN", show: (row) => showBytes(row.bytesIn), align: "right" },
        { title: "OUT", show: (row) => showBytes(row.bytesOut), align: "right" },
        { title: "TUNNELS", show: (row) => showBytes(row.tunnelBytes), align: "right" },
        { title: "STORED", show: (row) => showBytes(row.storedBytes), align: "right" },
      ],
      answer.days,
      `Nothing was used from ${answer.from} to ${answer.to}.`,
    );
    output.print();
    const share =
      actionsPerMonth > 0 ? ` of ${showCount(actionsPerMonth)} a month (${percent(totals.actions, actionsPerMonth)})` : "";
    output.print(`${answer.from} to ${answer.to}: ${showCount(totals.actions)} actions${share}`);
  });
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(1)} %`;
}

function day(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))) return text;
  throw new InvalidArgumentError("It must be a day such as 2026-11-21.");
}
