/** `perdure cluster status`: workers, and the leader of each partition with its epoch and the time since when it leads. */
import type { SqlRow } from "@perdure/admin-client";
import type { Command } from "commander";
import type { Context } from "../../context.js";
import { action, adminOf } from "./connect.js";
import { numberOf, textOf, whenOf } from "./texts.js";

export function registerCluster(program: Command, context: Context): void {
  const cluster = program
    .command("cluster")
    .helpGroup("Environments:")
    .description("the workers of the environment and the partitions that they lead");
  cluster
    .command("status")
    .description("show workers, their addresses and versions, and the leader of each partition")
    .action(action(() => status(context)));
}

async function status(context: Context): Promise<void> {
  const { sql } = adminOf(context);
  const [nodes, partitions] = await Promise.all([
    sql.query("SELECT * FROM sys_node ORDER BY id, address", context),
    sql.query("SELECT * FROM sys_partition ORDER BY id", context),
  ]);
  const { output, clock } = context;
  const nowMs = clock.nowMs();
  output.result({ nodes, partitions }, () => {
    output.table(
      [
        { title: "NODE", show: (row) => textOf(row, "id") ?? "?" },
        { title: "ADDRESS", show: (row) => textOf(row, "address") ?? "–" },
        { title: "VERSION", show: (row) => textOf(row, "version") ?? "?" },
        { title: "STATUS", show: (row) => painted(context, textOf(row, "status")) },
        { title: "STARTED", show: (row) => whenOf(textOf(row, "started_at"), nowMs) ?? "?" },
        { title: "LEADS", cutTo: 12, show: (row) => leadsText(row, partitions) },
      ],
      nodes,
      "No worker is on the list of workers.",
    );
    output.print();
    output.table(
      [
        { title: "PARTITION", align: "right", show: (row) => textOf(row, "id") ?? "" },
        { title: "STATUS", show: (row) => painted(context, textOf(row, "status")) },
        { title: "LEADER", show: (row) => textOf(row, "leader") ?? textOf(row, "leader_address") ?? "–" },
        { title: "EPOCH", align: "right", show: (row) => textOf(row, "epoch") ?? "–" },
        { title: "LEADER SINCE", show: (row) => whenOf(textOf(row, "leader_since"), nowMs) ?? "–" },
        { title: "LEASE ENDS", show: (row) => whenOf(textOf(row, "lease_expires_at"), nowMs) ?? "–" },
      ],
      partitions,
      "No partitions are known yet.",
    );
    const leaderCount = partitions.filter((row) => row["status"] === "leading").length;
    if (leaderCount < partitions.length)
      output.warn(
        `${partitions.length - leaderCount} of ${partitions.length} partitions have no leader that answers: their calls wait.`,
      );
  });
}

const COLOURS = new Map(
  Object.entries({
    alive: "green",
    leading: "green",
    draining: "yellow",
    unknown: "yellow",
    unreachable: "red",
    no_leader: "red",
  } as const),
);

function painted({ output }: Context, status = "?"): string {
  const colour = COLOURS.get(status);
  return colour === undefined ? status : output.paint(colour, status.replace("_", " "));
}

/** `12 (0-5, 7, 9-13)`. */
function leadsText(node: SqlRow, partitions: readonly SqlRow[]): string {
  const id = textOf(node, "id");
  const leaderPartitions =
    id === undefined ? [] : partitions.filter((row) => row["leader"] === id && row["status"] === "leading");
  if (leaderPartitions.length === 0) return textOf(node, "partitions_leading") ?? "?";
  return `${leaderPartitions.length} (${rangesOf(leaderPartitions.map((row) => numberOf(row, "id") ?? 0))})`;
}

/** `numbers` in ascending order. */
function rangesOf(numbers: readonly number[]): string {
  const ranges: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range?.last === number - 1) range.last = number;
    else ranges.push({ first: number, last: number });
  }
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(", ");
}
