/** Record of the measurements of a run. */
import { median } from "./figures.js";
import type { EndpointKind, ServerKind } from "./kinds.js";
import type { Figure, Readings } from "./row.js";

const FORMAT = 1;

export interface Machine {
  readonly cpus: number;
  readonly model: string;
  readonly memoryGiB: number;
  readonly kernel: string;
}

export interface ServerResult {
  readonly rounds: readonly Readings[];
  readonly failure?: string;
}

export interface RecordedRow {
  readonly name: string;
  readonly title: string;
  readonly endpoint: EndpointKind;
  readonly figures: Readonly<Record<string, Figure>>;
  readonly servers: Partial<Record<ServerKind, ServerResult>>;
  readonly othersShare: number;
  readonly load: number;
}

export interface BenchRecord {
  readonly format: typeof FORMAT;
  readonly startedAt: string;
  readonly commit: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly isShort: boolean;
  /** Share of all processors that other processes used before the first row, and the load then. */
  readonly othersShare: number;
  readonly load: number;
  readonly rows: readonly RecordedRow[];
}

export function newRecord(facts: Omit<BenchRecord, "format">): BenchRecord {
  return { format: FORMAT, ...facts };
}

/** Median of the rounds; undefined when the server has no such figure. */
export function medianOf(result: ServerResult | undefined, key: string): number | undefined {
  const values = valuesOf(result, key);
  return values.length === 0 ? undefined : median(values);
}

/** The least of the rounds: other work on a machine only ever adds processor time. */
export function leastOf(result: ServerResult | undefined, key: string): number | undefined {
  const values = valuesOf(result, key);
  return values.length === 0 ? undefined : Math.min(...values);
}

function valuesOf(result: ServerResult | undefined, key: string): readonly number[] {
  return (result?.rounds ?? []).map((readings) => readings[key]).filter((value) => value !== undefined);
}

export function parseRecord(text: string, name: string): BenchRecord {
  const value: unknown = JSON.parse(text);
  if (typeof value !== "object" || value === null || !("format" in value) || !("rows" in value))
    throw new Error(`${name} is not a record of a benchmark`);
  if (value.format !== FORMAT) throw new Error(`${name} has the format ${String(value.format)}; this build reads ${FORMAT}`);
  return value as BenchRecord;
}
