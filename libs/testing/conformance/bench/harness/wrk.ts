/** Load of a fixed number of connections, each of which sends its next request when it has the answer: wrk with one thread, on loopback. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { wrkProgram } from "@perdure/servers";

/** Objects that `counter` calls. */
export const COUNTERS = 1_000;

const POST = 'wrk.method = "POST"\n';
const JSON_TYPE = 'wrk.headers["content-type"] = "application/json"\n';
/**
 * Calls every counter in turn, neighbours far apart. (With a generator of random numbers whose products exceed 2^53 the low bits were lost, and
 * only every eighth counter was called.)
 */
const COUNTER = `local n = 0
request = function()
  n = (n + 617) % ${COUNTERS}
  return wrk.format("POST", "/Counter/k" .. n .. "/add")
end
`;
/** Microseconds of wrk become milliseconds. */
const DONE = `done = function(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\\nRESULT {"requests":%d,"failed":%d,"seconds":%f,"p50":%f,"p99":%f,"p999":%f}\\n', summary.requests, failed,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency:percentile(99.9) / 1e3))
end
`;

export interface Workload {
  readonly title: string;
  readonly path: string;
  readonly script: string;
}

export const WORKLOADS = {
  noop: { title: "no-op service handler", path: "/Bench/noop", script: POST },
  three: { title: "handler with three `ctx.run` steps", path: "/Bench/three", script: POST },
  ten: { title: "handler with ten `ctx.run` steps", path: "/Bench/ten", script: POST },
  counter: { title: `virtual-object counter over ${COUNTERS.toLocaleString("en")} keys`, path: "/", script: COUNTER },
  fanTen: { title: "handler that calls ten others", path: "/Fan/calls", script: `${POST}${JSON_TYPE}wrk.body = "10"\n` },
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof WORKLOADS;

/** Latencies in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  /** Answers other than 2xx and 3xx, time-outs, and errors of connections. */
  readonly failed: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** `headers`: `name: value`. */
export async function wrk(
  base: string,
  workload: WorkloadName,
  connections: number,
  seconds: number,
  { headers = [], signal }: { readonly headers?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<LoadResult> {
  const { path, script } = WORKLOADS[workload];
  const folder = mkdtempSync(join(tmpdir(), "perdure-bench-wrk-"));
  try {
    const file = join(folder, `${workload}.lua`);
    writeFileSync(file, script + DONE);
    const whole = Math.max(1, Math.round(seconds));
    const times = ["-t1", `-c${connections}`, `-d${whole}s`, "--timeout", "20s"];
    const args = [...times, ...headers.flatMap((header) => ["-H", header]), "-s", file, base + path];
    const program = await wrkProgram();
    const options = {
      encoding: "utf8",
      env: { ...process.env, ...program.env },
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const { stdout } = await promisify(execFile)(program.path, args, options);
    return resultIn(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same; rejects unless every request was answered. */
export async function wrkAnswered(...args: Parameters<typeof wrk>): Promise<LoadResult> {
  const result = await wrk(...args);
  if (result.requests === 0 || result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`);
  return result;
}

function resultIn(output: string): LoadResult {
  const printed = /^RESULT (.*)$/m.exec(output)?.[1];
  if (printed === undefined) throw new Error(`wrk printed no result: ${output}`);
  const result = JSON.parse(printed) as Omit<LoadResult, "perSecond">;
  return { ...result, perSecond: result.requests / result.seconds };
}
