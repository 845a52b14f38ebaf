/** One handler that calls many others, or waits for many timers together. */
import { longestDuring, post } from "../harness/calls.js";
import { atMost, expectEqual, type Row, withCpu } from "../harness/row.js";
import { healthMs, longestLoopDelayMs } from "../harness/stalls.js";

const CHILDREN = 10_000;
const TIMERS = 3_000;
const TIMER_MS = 1_000;

export const rows: readonly Row[] = [
  {
    name: "fan-out-10000",
    title: `a handler that calls ${CHILDREN.toLocaleString("en")} others and waits for all`,
    secondsMax: 300,
    isFresh: true,
    isChecked: true,
    figures: {
      childUs: { title: "server CPU per child", unit: "µs", isCpu: true },
      allMs: { title: "until it is done", unit: "ms" },
      loopMs: { title: "longest delay of the event loop", unit: "ms", goal: atMost(100) },
      healthMs: { title: "longest answer of /health", unit: "ms" },
    },
    measure: async (run) => {
      const { server, signal } = run;
      const count = run.isShort ? 200 : CHILDREN;
      let isOver = false;
      let loop: Promise<number | undefined> | undefined;
      const { result, cpu, ms } = await withCpu(run, async () => {
        const answer = post(server, "Fan/calls", String(count), signal).finally(() => {
          isOver = true;
        });
        loop = longestLoopDelayMs(server, () => isOver);
        const longest = await longestDuring(answer, () => healthMs(server, signal));
        return { sum: await answer, longest };
      });
      expectEqual("the sum of the answers", result.sum, String((count * (count - 1)) / 2));
      const loopMs = await loop;
      return {
        childUs: (cpu.server / count) * 1e6,
        allMs: ms,
        healthMs: result.longest,
        ...(loopMs === undefined ? {} : { loopMs }),
      };
    },
  },
  {
    name: "combine-3000",
    title: `a handler that combines ${TIMERS.toLocaleString("en")} timers of ${TIMER_MS / 1_000} s`,
    secondsMax: 300,
    isFresh: true,
    isChecked: true,
    figures: {
      timerUs: { title: "server CPU per timer", unit: "µs", isCpu: true },
      allMs: { title: "until it is done", unit: "ms" },
    },
    measure: async (run) => {
      const count = run.isShort ? 100 : TIMERS;
      const body = JSON.stringify({ count, ms: TIMER_MS });
      const { result, cpu, ms } = await withCpu(run, () => post(run.server, "Fan/timers", body, run.signal));
      expectEqual("timers that fired", result, String(count));
      return { timerUs: (cpu.server / count) * 1e6, allMs: ms };
    },
  },
];
