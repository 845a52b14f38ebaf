/** The interface of everything that is measured: one row is one piece of work, done by each server in turn. */
import type { Endpoint } from "./endpoints.js";
import type { ServerKind } from "./kinds.js";
import { cpuSeconds, endedChildrenCpuSeconds } from "./processes.js";
import type { Server } from "./servers.js";

/** Bound that a figure must meet: of a ratio to the reference in the same run, or of Perdure's own value. */
export interface Goal {
  readonly of: "ratio" | "value";
  readonly is: "at most" | "at least";
  readonly limit: number;
}

export interface Figure {
  readonly title: string;
  readonly unit: string;
  readonly goal?: Goal;
  /** CPU per invocation, which `make bench-check` compares: it moves less with the rest of the machine than times do. */
  readonly isCpu?: boolean;
}

/** Values by the keys of the row's figures. A figure that this server cannot have is left out. */
export type Readings = Readonly<Record<string, number>>;

/** One server at work. */
export interface Run {
  readonly server: Server;
  readonly endpoint: Endpoint;
  /** Milliseconds that the server took from its start to healthy. */
  readonly startMs: number;
  /** Length of a phase under load. */
  readonly seconds: number;
  /** A short run shows that the row works; its figures mean nothing. */
  readonly isShort: boolean;
  /** Different for each server and round: ids of what the endpoint counts start here. */
  readonly firstId: number;
  /** Fires when the row's time is over. */
  readonly signal: AbortSignal;
}

export interface Row {
  readonly name: string;
  readonly title: string;
  /** The most that one server may take, preparation and all rounds; a row that takes longer fails. */
  readonly secondsMax: number;
  readonly figures: Readonly<Record<string, Figure>>;
  /** Servers that the row is about; all unless it says so. */
  readonly servers?: readonly ServerKind[];
  /** Each round has a new process, because the work leaves much behind; and there is one round unless ROUNDS is set. */
  readonly isFresh?: boolean;
  /** The process is measured as it starts, without the no-ops that warm up the others. */
  readonly isCold?: boolean;
  /** One process burns each core meanwhile. */
  readonly isBesideBurners?: boolean;
  /** Part of `make bench-check`. */
  readonly isChecked?: boolean;
  /** Settings of Perdure other than the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Once for each process, after some no-ops that warm it up. */
  readonly prepare?: (run: Run) => Promise<void>;
  /** One round. Rejects when an answer or a sum is wrong. */
  readonly measure: (run: Run) => Promise<Readings>;
}

/** CPU seconds of the server, of the endpoint, and of the callers (this process and the load generator). */
export interface CpuUse {
  readonly server: number;
  readonly endpoint: number;
  readonly callers: number;
}

/** Returns the result of `work` and its cost. */
export async function withCpu<T>(
  { server, endpoint }: Run,
  work: () => Promise<T>,
): Promise<{ result: T; cpu: CpuUse; ms: number }> {
  const callers = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6 + endedChildrenCpuSeconds();
  };
  const read = (): CpuUse => ({ server: server.cpuSeconds(), endpoint: cpuSeconds(endpoint.pid), callers: callers() });
  const before = read();
  const began = performance.now();
  const result = await work();
  const ms = performance.now() - began;
  const now = read();
  const cpu = {
    server: now.server - before.server,
    endpoint: now.endpoint - before.endpoint,
    callers: now.callers - before.callers,
  };
  return { result, cpu, ms };
}

export const ratioAtMost = (limit: number): Goal => ({ of: "ratio", is: "at most", limit });
export const ratioAtLeast = (limit: number): Goal => ({ of: "ratio", is: "at least", limit });
export const atMost = (limit: number): Goal => ({ of: "value", is: "at most", limit });

/** Throws unless the sum, the count or the length is what it must be. */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what}: ${String(actual)} instead of ${String(expected)}`);
}
