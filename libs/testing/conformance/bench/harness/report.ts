/** The table of a run: one line for each figure, the cheap endpoint first and the other one beside it. */
import { isQuiet, percent, table, yes } from "./figures.js";
import { ENDPOINTS, type EndpointKind, type ServerKind } from "./kinds.js";
import { type BenchRecord, medianOf, type RecordedRow } from "./record.js";
import type { Figure, Goal } from "./row.js";

const NONE = "–";
const SERVER_TITLES: Readonly<Record<ServerKind, string>> = { perdure: "Perdure", other: "Other build", reference: "Reference" };

export function report(record: BenchRecord): string {
  const endpoints = ENDPOINTS.filter((kind) => record.rows.some(({ endpoint }) => endpoint === kind));
  const servers = (Object.keys(SERVER_TITLES) as ServerKind[]).filter((kind) =>
    record.rows.some((row) => row.servers[kind] !== undefined),
  );
  const columns = endpoints.flatMap((endpoint, index) => headOf(endpoint, servers, index === 0));
  const names = [...new Set(record.rows.map(({ name }) => name))];
  const lines = names.flatMap((name) =>
    linesOf(
      record.rows.filter((row) => row.name === name),
      endpoints,
      servers,
    ),
  );
  const failures = record.rows.flatMap(failuresOf);
  return [
    preamble(record),
    table(["Work", ...columns, "Other work"], lines),
    ...(failures.length === 0 ? [] : [`Failed:\n\n${failures.map((each) => `- ${each}`).join("\n")}`]),
    "",
  ].join("\n\n");
}

function preamble(record: BenchRecord): string {
  const { machine, versions } = record;
  const warning = isQuiet(record.othersShare)
    ? ""
    : `\n\n**The machine was not quiet**: other processes used ${percent(record.othersShare)} of its processors before the first row. Trust no figure.`;
  const short = record.isShort ? "\n\n**A short run**: it shows that the rows work, its figures mean nothing." : "";
  return `${record.startedAt}, commit ${record.commit}, ${machine.cpus} × ${machine.model}, ${machine.memoryGiB} GiB, Linux ${machine.kernel}, load ${record.load.toFixed(1)} at the start.
Node ${versions["node"]}, reference ${versions["reference"]}, Rust SDK ${versions["rustSdk"]}, TypeScript SDK ${versions["typescriptSdk"]}; phases of ${record.seconds} s, medians of the rounds.${warning}${short}`;
}

function headOf(endpoint: EndpointKind, servers: readonly ServerKind[], hasGoal: boolean): readonly string[] {
  const of = endpoint === "rust" ? "Rust" : "TypeScript";
  const isCompared = servers.includes("reference") && servers.includes("perdure");
  return [
    ...servers.map((kind) => `${SERVER_TITLES[kind]}, ${of}`),
    ...(isCompared ? ["Ratio"] : []),
    ...(hasGoal ? ["Goal", "Reached"] : []),
  ];
}

function linesOf(rows: readonly RecordedRow[], endpoints: readonly EndpointKind[], servers: readonly ServerKind[]): string[][] {
  const [first] = rows;
  if (first === undefined) return [];
  const isCompared = servers.includes("reference") && servers.includes("perdure");
  return Object.entries(first.figures).map(([key, figure]) => {
    const cells = endpoints.flatMap((endpoint, index) => {
      const row = rows.find((each) => each.endpoint === endpoint);
      const values = servers.map((kind) => medianOf(row?.servers[kind], key));
      const [ours, theirs] = [medianOf(row?.servers.perdure, key), medianOf(row?.servers.reference, key)];
      const ratio = ours === undefined || theirs === undefined ? undefined : ours / theirs;
      return [
        ...values.map(numberText),
        ...(isCompared ? [ratio === undefined ? NONE : ratio.toFixed(2)] : []),
        ...(index === 0 ? goalCells(figure, ours, ratio) : []),
      ];
    });
    const others = percent(Math.max(...rows.map(({ othersShare }) => othersShare)));
    return [`${first.name}: ${first.title}: ${figure.title}, ${figure.unit}`, ...cells, others];
  });
}

function goalCells({ goal, unit }: Figure, value: number | undefined, ratio: number | undefined): readonly [string, string] {
  if (goal === undefined) return [NONE, NONE];
  const actual = goal.of === "ratio" ? ratio : value;
  const limit = goal.of === "ratio" ? `${goal.limit}×` : `${goal.limit} ${unit}`;
  return [`${goal.is === "at most" ? "≤" : "≥"} ${limit}`, actual === undefined ? NONE : yes(isReached(goal, actual))];
}

export const isReached = (goal: Goal, actual: number): boolean =>
  goal.is === "at most" ? actual <= goal.limit : actual >= goal.limit;

function numberText(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return NONE;
  return value >= 100 ? value.toFixed(0) : value.toFixed(2);
}

function failuresOf({ name, endpoint, servers }: RecordedRow): readonly string[] {
  return Object.entries(servers).flatMap(([kind, { failure }]) =>
    failure === undefined ? [] : [`${name}, ${kind}, ${endpoint} endpoint: ${failure}`],
  );
}
