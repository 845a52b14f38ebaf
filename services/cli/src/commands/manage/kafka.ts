/** `perdure subscriptions` and `perdure kafka-clusters`: which topics invoke which handlers, and their progress. */
import type { SubscriptionStatusView } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { FAILED } from "../../errors.js";
import { showCount } from "../../output/index.js";
import { action, adminOf } from "./connect.js";
import { noteUndo } from "./operations.js";
import { pairs, sinkUri, wholeNumber } from "./values.js";

type Pairs = Readonly<Record<string, string>>;

export function registerKafka(program: Command, context: Context): void {
  registerSubscriptions(program, context);
  registerClusters(program, context);
}

function registerSubscriptions(program: Command, context: Context): void {
  const subscriptions = program
    .command("subscriptions")
    .alias("subscription")
    .helpGroup("Triggers and limits:")
    .description("Kafka topics that call handlers");
  subscriptions
    .command("list")
    .alias("ls")
    .description("list subscriptions with state and lag")
    .action(action(() => list(context)));
  subscriptions
    .command("describe")
    .argument("<id>")
    .description("show a subscription: each partition, and the record that blocks it")
    .action(action(async (id: string) => describe(context, await adminOf(context).subscriptions.status(id, context))));
  subscriptions
    .command("create")
    .argument("<source>", "kafka://<cluster>/<topic>")
    .argument("<sink>", "Service/handler", sinkUri)
    .option("-o, --option <name=value>", "of the consumer, e.g. auto.offset.reset=earliest; repeatable", pairs)
    .description("call a handler for each record of a topic")
    .action(
      action(async (source: string, target: string, { option }: { option?: Pairs }) => {
        const made = await adminOf(context).subscriptions.create(source, target, option ?? {}, context);
        context.output.result(made, () => context.output.print(`${made.id} feeds ${made.source} to ${made.sink}`));
      }),
    );
  for (const verb of ["pause", "resume"] as const) {
    subscriptions
      .command(verb)
      .argument("<id>")
      .description(verb === "pause" ? "stop reading; resume continues at the same offset" : "continue reading")
      .action(
        action(async (id: string) =>
          describe(context, await adminOf(context).subscriptions.setPaused(id, verb === "pause", context)),
        ),
      );
  }
  subscriptions
    .command("skip")
    .argument("<id>")
    .argument("<partition>", "", wholeNumber(0))
    .argument("<offset>", "", wholeNumber(0))
    .description("skip one record, for example one that no handler accepts")
    .action(
      action(async (id: string, partition: number, offset: number) => {
        await confirmed(context, `Skip the record at offset ${offset} of partition ${partition}?`);
        await describe(context, await adminOf(context).subscriptions.skip(id, { partition, offset }, context));
      }),
    );
  subscriptions
    .command("delete")
    .alias("rm")
    .argument("<id>")
    .description("delete a subscription; its invocations continue")
    .action(
      action(async (id: string) => {
        const { source, sink } = await adminOf(context).subscriptions.get(id, context);
        await confirmed(context, `End ${id} (${source} to ${sink})?`);
        const operation = await adminOf(context).subscriptions.remove(id, context);
        context.output.result({ id, removed: true }, () => context.output.print(`${id} has ended`));
        await noteUndo(context, operation);
      }),
    );
}

async function confirmed(context: Context, question: string): Promise<void> {
  if (!context.yes && !(await context.prompts.confirm(question, "--yes"))) context.fail(FAILED, "Nothing was done");
}

const lagOf = ({ positions }: SubscriptionStatusView): number => positions.reduce((sum, { lag }) => sum + Math.max(0, lag), 0);

async function list(context: Context): Promise<void> {
  const { subscriptions } = adminOf(context);
  const all = await subscriptions.list(context);
  const rows = await Promise.all(all.map(async (one) => ({ ...one, status: await subscriptions.status(one.id, context) })));
  const { output } = context;
  output.result({ subscriptions: rows }, () =>
    output.table(
      [
        { title: "ID", show: ({ id }) => id },
        {
          title: "STATE",
          show: ({ status }) =>
            output.paint(
              status.stuck_at !== null || status.state === "backing-off" ? "red" : status.paused ? "magenta" : "green",
              status.state,
            ),
        },
        { title: "LAG", align: "right", show: ({ status }) => (status.positions.length === 0 ? "?" : showCount(lagOf(status))) },
        { title: "HANDLED", align: "right", show: ({ status }) => showCount(status.handled_records) },
        { title: "SOURCE", cutTo: 12, show: ({ source }) => source },
        { title: "SINK", cutTo: 12, show: ({ sink }) => sink },
      ],
      rows,
      "No subscriptions. Create one: perdure subscriptions create kafka://<cluster>/<topic> <Service>/<handler>",
    ),
  );
}

async function describe(context: Context, status: SubscriptionStatusView): Promise<void> {
  const { source, sink } = await adminOf(context).subscriptions.get(status.id, context);
  const { output } = context;
  output.result({ source, sink, ...status }, () => {
    const { stuck_at } = status;
    output.facts([
      ["Id", status.id],
      ["Source", source],
      ["Sink", sink],
      ["State", status.state],
      ["Lag", status.positions.length === 0 ? undefined : showCount(lagOf(status))],
      ["Handled", `${showCount(status.handled_records)} records`],
      [
        "Stuck at",
        stuck_at === null ? undefined : `partition ${stuck_at.partition}, offset ${stuck_at.offset}: ${stuck_at.reason}`,
      ],
      ["Last failure", status.last_failure ?? undefined],
      ["Next try", status.next_retry_at ?? undefined],
    ]);
    if (stuck_at !== null)
      output.note(`Skip that record: perdure subscriptions skip ${status.id} ${stuck_at.partition} ${stuck_at.offset}`);
    if (status.positions.length === 0) return;
    output.print();
    output.table(
      [
        { title: "PARTITION", align: "right", show: ({ partition }) => String(partition) },
        { title: "NEXT OFFSET", align: "right", show: (row) => String(row.next_offset) },
        { title: "LAG", align: "right", show: ({ lag }) => showCount(lag) },
      ],
      status.positions,
      "",
    );
  });
}

// ── clusters ─────────────────────────────────────────────────────────────────────────────────────

function registerClusters(program: Command, context: Context): void {
  const clusters = program
    .command("kafka-clusters")
    .alias("kafka")
    .helpGroup("Triggers and limits:")
    .description("Kafka clusters that subscriptions read from");
  clusters
    .command("list")
    .alias("ls")
    .description("list them")
    .action(
      action(async () => {
        const clusterList = await adminOf(context).kafkaClusters.list(context);
        context.output.result({ clusters: clusterList }, () =>
          context.output.table(
            [
              { title: "NAME", show: ({ name }) => name },
              {
                title: "BROKERS",
                cutTo: 12,
                show: ({ properties }) => properties["bootstrap.servers"] ?? properties["metadata.broker.list"],
              },
              { title: "CREATED", show: (row) => row.created_at },
            ],
            clusterList,
            "No Kafka clusters. Create one: perdure kafka-clusters create <name> --option bootstrap.servers=host:9092",
          ),
        );
      }),
    );
  clusters
    .command("describe")
    .argument("<name>")
    .description("show a cluster; secrets are hidden")
    .action(
      action(async (name: string) => {
        const cluster = await adminOf(context).kafkaClusters.get(name, context);
        context.output.result(cluster, () => context.output.facts(Object.entries(cluster.properties)));
      }),
    );
  for (const verb of ["create", "update"] as const) {
    clusters
      .command(verb)
      .argument("<name>")
      .requiredOption("-o, --option <name=value>", "of the client, e.g. bootstrap.servers=host:9092; repeatable", pairs)
      .description(verb === "create" ? "add a cluster" : "change options; others are unchanged")
      .action(
        action(async (name: string, { option }: { option: Pairs }) => {
          const { kafkaClusters } = adminOf(context);
          const cluster =
            verb === "create"
              ? await kafkaClusters.create(name, option, context)
              : await kafkaClusters.update(name, { ...(await kafkaClusters.get(name, context)).properties, ...option }, context);
          context.output.result(cluster, () => context.output.print(`${name} is ${verb === "create" ? "known" : "changed"}`));
        }),
      );
  }
  clusters
    .command("delete")
    .alias("rm")
    .argument("<name>")
    .option("--force", "even when subscriptions read from it")
    .description("remove a cluster")
    .action(
      action(async (name: string, { force }: { force?: boolean }) => {
        await confirmed(context, `Delete the Kafka cluster ${name}?`);
        const operation = await adminOf(context).kafkaClusters.remove(name, force === true, context);
        context.output.result({ name, removed: true }, () => context.output.print(`${name} is removed`));
        await noteUndo(context, operation);
      }),
    );
}
