/** Short calls of one client beside much work of another. */
import { setTimeout as delay } from "node:timers/promises";
import { callAtRate, longestDuring, noOpMs } from "../harness/calls.js";
import { percentile, perInvocationUs } from "../harness/figures.js";
import { type Row, withCpu } from "../harness/row.js";
import { healthMs, longestLoopDelayMs } from "../harness/stalls.js";
import { wrkAnswered } from "../harness/wrk.js";

const NO_OPS_PER_SECOND = 50;
const CONNECTIONS = 64;
/** Long enough for p99.9 of 50 calls a second. */
const PHASES = 3;

export const rows: readonly Row[] = [
  {
    name: "mixed",
    title: `a no-op ${NO_OPS_PER_SECOND} times a second beside ${CONNECTIONS} connections of three steps`,
    secondsMax: 300,
    figures: {
      p50: { title: "no-op p50", unit: "ms" },
      p99: { title: "no-op p99", unit: "ms" },
      p999: { title: "no-op p99.9", unit: "ms" },
      threePerSecond: { title: "three steps beside it", unit: "/s" },
      cpuUs: { title: "server CPU per invocation", unit: "µs", isCpu: true },
      loopMs: { title: "longest delay of the event loop", unit: "ms" },
      healthMs: { title: "longest answer of /health", unit: "ms" },
    },
    measure: async (run) => {
      const { server, seconds, signal } = run;
      let isOver = false;
      const { result, cpu } = await withCpu(run, async () => {
        const load = wrkAnswered(server.ingress, "three", CONNECTIONS, seconds * PHASES, { signal }).finally(() => {
          isOver = true;
        });
        const health = longestDuring(load, () => healthMs(server, signal));
        const loop = longestLoopDelayMs(server, () => isOver);
        await delay(200); // The load has begun.
        const noOps = await callAtRate(
          NO_OPS_PER_SECOND,
          () => isOver,
          () => noOpMs(server, signal),
        );
        return { three: await load, noOps, healthMs: await health, loopMs: await loop };
      });
      const { three, noOps, loopMs } = result;
      return {
        p50: percentile(noOps, 0.5),
        p99: percentile(noOps, 0.99),
        p999: percentile(noOps, 0.999),
        threePerSecond: three.perSecond,
        cpuUs: perInvocationUs(cpu.server, three.requests + noOps.length),
        healthMs: result.healthMs,
        ...(loopMs === undefined ? {} : { loopMs }),
      };
    },
  },
];
