/**
 * Ends a process that still runs but is of no use: one that hangs answers no client, and one whose memory grows without end takes the
 * memory of the others. Both are distinguished from a process that is busy, and the watchdog returns the reason.
 */
import { type Clock, pause } from "@perdure/base";
import { HUNG_AFTER_MS, MEMORY_CHECK_EVERY_MS, MEMORY_CHECKS_MAX, MEMORY_SHARE_AT_ONCE, PROBE_EVERY_MS } from "./limits.js";

interface WatchdogPorts {
  /** Whether the runtime answers and commits; takes a bounded time. */
  readonly answers: () => Promise<boolean>;
  /** MiB; undefined when the process has ended. */
  readonly memoryMib: () => number | undefined;
  readonly memoryMibMax: number | undefined;
  readonly clock: Clock;
}

/** `atOnce`: the process would not handle a request to end. */
export interface HealthProblem {
  readonly reason: string;
  readonly atOnce: boolean;
}

/** Resolves with the problem when there is one, or with undefined when the signal aborts. */
export function untilUnhealthy(ports: WatchdogPorts, signal: AbortSignal): Promise<HealthProblem | undefined> {
  const own = new AbortController();
  const over = AbortSignal.any([signal, own.signal]);
  return new Promise((resolve, reject) => {
    const first = (problem: HealthProblem | undefined): void => {
      resolve(problem); // Resolve before the abort: the other checks resolve with undefined when they are aborted.
      own.abort();
    };
    if (over.aborted) return first(undefined);
    over.addEventListener("abort", () => first(undefined), { once: true });
    for (const watching of [untilHung(ports, over), untilTooBig(ports, over)]) {
      watching.then((problem) => problem !== undefined && first(problem), reject);
    }
  });
}

async function untilHung({ answers, clock }: WatchdogPorts, signal: AbortSignal): Promise<HealthProblem | undefined> {
  let lastAnsweredAtMs = clock.monotonicMs();
  for (;;) {
    await pause(clock, PROBE_EVERY_MS, signal);
    if (signal.aborted) return undefined;
    const requestedAtMs = clock.monotonicMs();
    if (await answers()) lastAnsweredAtMs = clock.monotonicMs();
    // Only time with checks counts: a machine that slept made no checks.
    else if (requestedAtMs - lastAnsweredAtMs > 2 * HUNG_AFTER_MS) lastAnsweredAtMs = requestedAtMs;
    else if (clock.monotonicMs() - lastAnsweredAtMs >= HUNG_AFTER_MS) {
      return { reason: `it did not answer for ${HUNG_AFTER_MS / 1_000} s`, atOnce: true };
    }
  }
}

async function untilTooBig(
  { memoryMib, memoryMibMax, clock }: WatchdogPorts,
  signal: AbortSignal,
): Promise<HealthProblem | undefined> {
  if (memoryMibMax === undefined) return undefined;
  let beyond = 0;
  for (;;) {
    await pause(clock, MEMORY_CHECK_EVERY_MS, signal);
    if (signal.aborted) return undefined;
    const mib = memoryMib() ?? 0;
    beyond = mib > memoryMibMax ? beyond + 1 : 0;
    const atOnce = mib > memoryMibMax * MEMORY_SHARE_AT_ONCE;
    if (atOnce || beyond >= MEMORY_CHECKS_MAX) {
      return { reason: `it used ${Math.ceil(mib)} MiB of memory and may use ${memoryMibMax}`, atOnce };
    }
  }
}
