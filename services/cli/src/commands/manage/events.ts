/** `perdure events`: receivers of events about invocations and the environment, and the deliveries (docs/how-to/events-and-webhooks.md). */
import { type EventSubscriptionView, sqlText } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED, USAGE } from "../../errors.js";
import { action, adminOf } from "./connect.js";
import { LIST_ROWS_DEFAULT, LIST_ROWS_MAX } from "./limits.js";
import { noteUndo } from "./operations.js";
import { textOf, whenOf } from "./texts.js";
import { type EventFilterFlag, eventDestination, eventFilter, invocationId, oneOf, wholeNumber } from "./values.js";

const TYPES = [
  "invocation.completed",
  "invocation.failed",
  "invocation.paused",
  "subscription.stuck",
  "subscription.recovered",
  "limit.saturated",
  "limit.recovered",
  "deployment.drained",
] as const;

export function registerEvents(program: Command, context: Context): void {
  const events = program
    .command("events")
    .helpGroup("Triggers and limits:")
    .description("subscriptions to events about invocations and the environment, and their deliveries");
  events
    .command("subscribe")
    .requiredOption("--on <types>", `${TYPES.join(", ")}; separated by commas`, oneOf(TYPES))
    .requiredOption("--to <destination>", "Service/handler, or the https:// address of a webhook", eventDestination)
    .option("--filter <name=value>", "service=…, handler=… or scope=…; repeatable", eventFilter)
    .option("--description <text>", "what it is for")
    .description("send events to a handler or a webhook")
    .action(action((flags: SubscribeFlags) => subscribe(context, flags)));
  events
    .command("list")
    .alias("ls")
    .description("list event subscriptions")
    .action(action(() => list(context)));
  events
    .command("describe")
    .argument("<id>", "evs_…")
    .description("show a subscription and how many of its deliveries are kept, by status")
    .action(action((id: string) => describe(context, id)));
  events
    .command("delete")
    .alias("rm")
    .argument("<id>", "evs_…")
    .description("end a subscription; deliveries to its handler continue, those to its webhook fail")
    .action(action((id: string) => remove(context, id)));
  events
    .command("deliveries")
    .argument("[id]", "evs_…; all subscriptions when absent")
    .option("--failed", "only failed and paused ones, which are repeated only by a request")
    .option("-n, --limit <rows>", "maximum number of rows", wholeNumber(1, LIST_ROWS_MAX))
    .description("list deliveries, newest first")
    .action(action((id: string | undefined, flags: DeliveryFlags) => listDeliveries(context, id, flags)));
  events
    .command("replay")
    .argument("[deliveries...]", "ids of deliveries, inv_…")
    .option("--failed <id>", "all failed and paused deliveries of a subscription, evs_…")
    .description("deliver events again")
    .action(action((ids: readonly string[], { failed }: { failed?: string }) => replay(context, ids, failed)));
  events
    .command("rotate-secret")
    .argument("<id>", "evs_…")
    .description("sign with a new secret; the present one signs too until the next rotation")
    .action(
      action(async (id: string) => {
        const rotated = await adminOf(context).events.rotateSecret(id, context);
        context.output.result(rotated, () => {
          printSecret(context, rotated.secret);
          context.output.note(`The old secret is valid until the next rotation, or: perdure events revoke-old-secret ${id}`);
        });
      }),
    );
  events
    .command("revoke-old-secret")
    .argument("<id>", "evs_…")
    .description("sign only with the present secret, at once; after a rotation because of a leak")
    .action(action((id: string) => revokeOldSecret(context, id)));
}

interface SubscribeFlags {
  readonly on: readonly (typeof TYPES)[number][];
  readonly to: { readonly service: string; readonly handler: string } | { readonly url: string };
  readonly filter?: EventFilterFlag;
  readonly description?: string;
}

async function subscribe(context: Context, { on, to, filter, description }: SubscribeFlags): Promise<void> {
  const fields = { types: [...on], to, filter: filter ?? {}, ...(description === undefined ? {} : { description }) };
  const made = await adminOf(context).events.create(fields, context);
  context.output.result(made, () => {
    context.output.print(`${made.id} sends ${made.types.join(", ")} to ${destinationOf(made)}`);
    printSecret(context, made.secret);
  });
}

function printSecret({ output }: Context, secret: string | undefined): void {
  if (secret === undefined) return;
  output.print(`Secret: ${secret}`);
  output.note("The secret is not shown again. Receivers verify the header webhook-signature with it.");
}

function destinationOf({ to }: EventSubscriptionView): string {
  return "url" in to ? to.url : `${to.service}/${to.handler}`;
}

function secretsText({ secret_count: count }: EventSubscriptionView): string | undefined {
  return count === 2 ? "2 are valid: the present one and the one before it" : count?.toString();
}

function filterText({ filter }: EventSubscriptionView): string {
  return Object.entries(filter)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(" ");
}

async function list(context: Context): Promise<void> {
  const subscriptions = await adminOf(context).events.list(context);
  const { output } = context;
  output.result({ subscriptions }, () =>
    output.table(
      [
        { title: "ID", show: ({ id }) => id },
        { title: "EVENTS", cutTo: 12, show: ({ types }) => types.join(", ") },
        { title: "FILTER", cutTo: 8, show: filterText },
        { title: "TO", cutTo: 12, show: destinationOf },
      ],
      subscriptions,
      "No event subscriptions. Create one: perdure events subscribe --on invocation.failed --to <Service>/<handler>",
    ),
  );
}

async function describe(context: Context, id: string): Promise<void> {
  const admin = adminOf(context);
  const [subscription, counts] = await Promise.all([
    admin.events.get(id, context),
    admin.sql.query(
      `SELECT status, count(*) AS deliveries FROM sys_event_delivery WHERE subscription_id = ${sqlText(id)} GROUP BY status ORDER BY status`,
      context,
    ),
  ]);
  const { output } = context;
  output.result({ ...subscription, deliveries: counts }, () =>
    output.facts([
      ["Id", subscription.id],
      ["Events", subscription.types.join(", ")],
      ["Filter", filterText(subscription) || undefined],
      ["To", destinationOf(subscription)],
      ["Secrets", secretsText(subscription)],
      ["Description", subscription.description],
      ["Created", whenOf(subscription.created_at, context.clock.nowMs())],
      ["Deliveries", counts.map((row) => `${textOf(row, "deliveries")} ${textOf(row, "status")}`).join(", ") || "none"],
    ]),
  );
}

async function remove(context: Context, id: string): Promise<void> {
  const { events } = adminOf(context);
  const subscription = await events.get(id, context);
  const question = `End ${id} (${subscription.types.join(", ")} to ${destinationOf(subscription)})?`;
  if (!context.yes && !(await context.prompts.confirm(question, "--yes"))) context.fail(FAILED, "Nothing was done");
  const operation = await events.remove(id, context);
  context.output.result({ id, removed: true }, () => context.output.print(`${id} has ended`));
  await noteUndo(context, operation);
}

async function revokeOldSecret(context: Context, id: string): Promise<void> {
  const question = `Revoke the old secret of ${id}? Receivers that still verify with it will refuse the events.`;
  if (!context.yes && !(await context.prompts.confirm(question, "--yes"))) context.fail(FAILED, "Nothing was done");
  const subscription = await adminOf(context).events.revokeOldSecret(id, context);
  context.output.result(subscription, () => context.output.print(`${id} signs only with its present secret`));
}

interface DeliveryFlags {
  readonly failed?: boolean;
  readonly limit?: number;
}

const IS_DEAD = "status IN ('failed', 'paused')";

async function listDeliveries(context: Context, id: string | undefined, { failed, limit }: DeliveryFlags): Promise<void> {
  const conditions = [...(id === undefined ? [] : [`subscription_id = ${sqlText(id)}`]), ...(failed === true ? [IS_DEAD] : [])];
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const rows = await adminOf(context).sql.query(
    "SELECT id, subscription_id, event_id, event_type, subject, status, failure, replay_of, created_at, completed_at " +
      `FROM sys_event_delivery ${where} ORDER BY created_at DESC, id LIMIT ${limit ?? LIST_ROWS_DEFAULT}`,
    context,
  );
  const { output, clock } = context;
  output.result({ deliveries: rows }, () =>
    output.table(
      [
        { title: "DELIVERY", show: (row) => textOf(row, "id") },
        { title: "EVENT", show: (row) => textOf(row, "event_type") },
        { title: "SUBJECT", show: (row) => textOf(row, "subject") },
        {
          title: "STATUS",
          show: (row) => {
            const status = textOf(row, "status") ?? "";
            return output.paint(status === "delivered" ? "green" : status === "failed" ? "red" : "magenta", status);
          },
        },
        { title: "CREATED", show: (row) => whenOf(textOf(row, "created_at"), clock.nowMs()) },
        { title: "FAILURE", cutTo: 8, show: (row) => textOf(row, "failure") },
      ],
      rows,
      "No deliveries are kept.",
    ),
  );
}

/** Number of deliveries of one `--failed`; a further command replays the rest. */
const REPLAYED_MAX = 1000;

async function replay(context: Context, ids: readonly string[], failed: string | undefined): Promise<void> {
  const admin = adminOf(context);
  if ((ids.length === 0) === (failed === undefined)) context.fail(USAGE, "Name deliveries, or a subscription with --failed");
  const dead =
    failed === undefined
      ? []
      : await admin.sql.query(
          `SELECT id FROM sys_event_delivery WHERE subscription_id = ${sqlText(failed)} AND ${IS_DEAD} ` +
            "AND id NOT IN (SELECT replay_of FROM sys_event_delivery WHERE replay_of IS NOT NULL) " +
            `ORDER BY created_at, id LIMIT ${REPLAYED_MAX}`,
          context,
        );
  const deliveries = failed === undefined ? ids.map(invocationId) : dead.map((row) => textOf(row, "id") ?? "");
  const replayed: { readonly delivery: string; readonly invocation_id: string }[] = [];
  for (const delivery of deliveries) replayed.push({ delivery, invocation_id: await admin.events.replay(delivery, context) });
  const { output } = context;
  output.result({ replayed }, () => {
    if (replayed.length === 0) output.print("No delivery to replay.");
    for (const one of replayed) output.print(`${one.delivery} is delivered again by ${one.invocation_id}`);
  });
}
