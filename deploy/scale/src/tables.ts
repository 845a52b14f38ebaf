/** Tables of the model in Markdown: the calculator prints them, and `docs/operating/scale.md` has them. */
import { ASSUMPTIONS, type Values, WORK, type WorkCost } from "./costs.ts";
import {
  capacitiesOf,
  drainMs,
  latencyMs,
  leaseLoad,
  type Platform,
  partitionsOf,
  platformOf,
  type Shape,
  workersOfListMax,
} from "./model.ts";

export interface GrowthStep extends Shape {
  readonly what: string;
}

/** Each step has what was used up first in the one before. */
export const STEPS: readonly GrowthStep[] = [
  { what: "one of each", workers: 1, gateways: 1, redisNodes: 1, databases: 1 },
  { what: "workers × 4", workers: 4, gateways: 1, redisNodes: 1, databases: 1 },
  { what: "workers × 10", workers: 10, gateways: 3, redisNodes: 1, databases: 1 },
  { what: "Redis nodes", workers: 10, gateways: 3, redisNodes: 3, databases: 1 },
  { what: "100 workers", workers: 100, gateways: 28, redisNodes: 32, databases: 1 },
  { what: "200 workers", workers: 200, gateways: 50, redisNodes: 100, databases: 2 },
  { what: "1,000 workers", workers: 1_000, gateways: 280, redisNodes: 400, databases: 8 },
];

export const PLATFORMS: readonly (readonly [environments: number, perSecond: number])[] = [
  [100, 10_000],
  [1_000, 100_000],
  [10_000, 1_000_000],
  [100, 1_000_000],
];

const number = (value: number, digits = 0): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const percent = (share: number): string => `${number(share * 100, share < 0.1 ? 1 : 0)} %`;
const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n");

export function assumptionTable(values: Values): string {
  const rows = Object.entries(ASSUMPTIONS).map(([key, { name, unit, source }]) => {
    const value = values[key as keyof Values];
    return [`\`${key}\``, name, `${Number.isInteger(value) ? number(value) : value} ${unit}`.trim(), source];
  });
  return table(["Name", "What", "Value", "Source"], rows);
}

export function workTable(): string {
  return table(
    ["Work", "Worker, µs", "Gateway, µs", "Redis, µs", "Bytes to Redis", "Commits in sequence"],
    Object.entries(WORK).map(([key, { workerMicros, gatewayMicros, redisMicros, redisBytes, commits }]) => [
      `\`${key}\``,
      ...[workerMicros, gatewayMicros, redisMicros, redisBytes, commits].map((value) => number(value)),
    ]),
  );
}

export function stepTable(steps: readonly GrowthStep[], work: WorkCost, values: Values): string {
  return table(
    ["Step", "Workers", "Partitions", "Gateways", "Redis nodes", "Invocations/s", "First at its limit", "Next", "A call, ms"],
    steps.map((step) => {
      const [first, second] = capacitiesOf(step, work, values);
      return [
        step.what,
        number(step.workers),
        number(partitionsOf(step.workers, values)),
        number(step.gateways),
        number(step.redisNodes),
        number(first?.perSecond ?? 0),
        first?.resource ?? "",
        `${second?.resource}: ${number(second?.perSecond ?? 0)}`,
        number(latencyMs(step.workers, work, values), 1),
      ];
    }),
  );
}

export function leaseTable(workers: readonly number[], values: Values): string {
  return table(
    [
      "Workers",
      "Partitions",
      "Redis for leases, processors",
      "the node with the list of workers",
      "a worker's processor",
      "a drain hands over in, s",
    ],
    workers.map((count) => {
      const partitions = partitionsOf(count, values);
      const { redisCores, listCores, workerCores } = leaseLoad(count, partitions, values);
      return [
        number(count),
        number(partitions),
        number(redisCores, 2),
        percent(listCores),
        percent(workerCores),
        number(drainMs(count, values) / 1_000, 2),
      ];
    }),
  );
}

export function platformTable(work: WorkCost, values: Values): string {
  const platforms = PLATFORMS.map(([environments, perSecond]) => platformOf(environments, perSecond, work, values));
  const line = (what: string, of: (platform: Platform) => string): string[] => [what, ...platforms.map(of)];
  return table(
    ["", ...platforms.map(({ environments, perSecond }) => `${number(environments)} × ${number(perSecond / environments)}/s`)],
    [
      line("invocations/s in all", ({ perSecond }) => number(perSecond)),
      line("workers of an environment; of all", ({ shape, workers }) => `${number(shape.workers)}; ${number(workers)}`),
      line(
        "Redis nodes of an environment; of all",
        ({ shape, redisNodes }) => `${number(shape.redisNodes)}; ${number(redisNodes)}`,
      ),
      line("processors of Redis", ({ redisCores }) => number(redisCores)),
      line("processors of the cloud gateway", ({ edgeCores }) => number(edgeCores)),
      line("PostgreSQL servers for archives", ({ databases }) => number(databases)),
      line("archive, MB/s", ({ archiveBytesPerSecond }) => number(archiveBytesPerSecond / 1e6)),
      line(
        "operator: processor; memory, MiB",
        ({ operatorCores, operatorMib }) => `${percent(operatorCores)}; ${number(operatorMib)}`,
      ),
      line("created at once until all are ready, min", ({ createdSeconds }) => number(createdSeconds / 60, 1)),
      line(
        "all idle, as one process each: memory, GiB; processors",
        ({ idleMemoryGib, idleCores }) => `${number(idleMemoryGib)}; ${number(idleCores, 1)}`,
      ),
    ],
  );
}

/** What the page and the calculator have, by the name of the table. */
export function tablesOf(work: WorkCost, values: Values): Readonly<Record<string, string>> {
  return {
    work: workTable(),
    assumptions: assumptionTable(values),
    steps: stepTable(STEPS, work, values),
    leases: leaseTable([1, 10, 100, 200, 400, 1_000], values),
    platform: platformTable(work, values),
    list: `At the highest use, the node with the list of workers carries the heartbeats of ${number(workersOfListMax(values))} workers and nothing else.`,
  };
}
