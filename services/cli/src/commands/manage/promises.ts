/** Results from outside that handlers wait for: complete awakeables, show promises of workflows. */
import { sqlText } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { USAGE } from "../../errors.js";
import { action, adminOf, ingressOf } from "./connect.js";
import { LIST_ROWS_DEFAULT, LIST_ROWS_MAX } from "./limits.js";
import { requireService } from "./require-service.js";
import { jsonOf, textOf } from "./texts.js";
import { bodyOf, wholeNumber } from "./values.js";

export function registerPromises(program: Command, context: Context): void {
  const awakeables = program
    .command("awakeables")
    .alias("awakeable")
    .helpGroup("Services and invocations:")
    .description("complete awakeables that handlers wait for");
  awakeables
    .command("resolve")
    .argument("<id>", "the awakeable id")
    .argument("[value]", "JSON; - reads it from stdin")
    .option("-f, --file <path>", "the content of this file is the value")
    .option("--content-type <type>", "of the value; application/json by default")
    .description("complete an awakeable with a value")
    .action(action((id: string, value: string | undefined, flags: ResolveFlags) => resolve(context, id, value, flags)));
  awakeables
    .command("reject")
    .argument("<id>", "the awakeable id")
    .argument("<reason>", "message of the failure")
    .description("complete an awakeable with a failure")
    .action(
      action(async (id: string, reason: string) => {
        await ingressOf(context).rejectAwakeable(id, reason, context);
        context.output.result({ id, outcome: "rejected" }, () => context.output.print(`${id} is rejected`));
      }),
    );
  program
    .command("promises")
    .helpGroup("Services and invocations:")
    .description("promises of workflows")
    .command("list")
    .alias("ls")
    .argument("<workflow>")
    .argument("[key]")
    .option("-n, --limit <rows>", "maximum number of rows", wholeNumber(1, LIST_ROWS_MAX))
    .description("list promises; handlers of the workflow resolve them (perdure call Workflow/key/handler)")
    .action(
      action((workflow: string, key: string | undefined, { limit }: { limit?: number }) =>
        list(context, workflow, key, limit ?? LIST_ROWS_DEFAULT),
      ),
    );
}

interface ResolveFlags {
  readonly file?: string;
  readonly contentType?: string;
}

async function resolve(
  context: Context,
  id: string,
  argument: string | undefined,
  { file, contentType }: ResolveFlags,
): Promise<void> {
  const body = bodyOf(argument, file);
  if (body !== undefined && contentType === undefined && jsonOf(Buffer.from(body).toString()) === undefined) {
    context.fail(USAGE, "The value is not valid JSON", `A text needs quotes: '"…"'. Anything else needs --content-type.`);
  }
  await ingressOf(context).resolveAwakeable(id, body, contentType ?? "application/json", context);
  context.output.result({ id, outcome: "resolved" }, () => context.output.print(`${id} is resolved`));
}

async function list(context: Context, workflow: string, key: string | undefined, limit: number): Promise<void> {
  const ofKey = key === undefined ? "" : ` AND service_key = ${sqlText(key)}`;
  const admin = adminOf(context);
  const promises = await admin.sql.query(
    "SELECT service_name, service_key, key, completed, completion_success_value_utf8, completion_failure FROM sys_promise " +
      `WHERE service_name = ${sqlText(workflow)}${ofKey} ORDER BY service_key, key LIMIT ${limit}`,
    context,
  );
  if (promises.length === 0) await requireService(context, admin, workflow, ["Workflow"], "promises");
  const { output } = context;
  output.result({ promises }, () =>
    output.table(
      [
        { title: "KEY", show: (row) => textOf(row, "service_key") },
        { title: "PROMISE", show: (row) => textOf(row, "key") },
        {
          title: "STATE",
          show: (row) =>
            row["completed"] !== true ? "pending" : textOf(row, "completion_failure") === undefined ? "resolved" : "rejected",
        },
        {
          title: "VALUE",
          cutTo: 12,
          show: (row) => textOf(row, "completion_failure") ?? textOf(row, "completion_success_value_utf8") ?? "",
        },
      ],
      promises,
      `No promises of ${workflow}.`,
    ),
  );
}
