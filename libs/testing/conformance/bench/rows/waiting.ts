/** More handlers that wait than there are slots by default: what a no-op of another service notices of them. */
import { callMany, longestDuring, noOpMs, post } from "../harness/calls.js";
import { perInvocationUs } from "../harness/figures.js";
import { atMost, expectEqual, type Row, ratioAtMost, withCpu } from "../harness/row.js";

const SLEEPING = 1_100;
const PARENTS = 1_500;
const SENDS = 95_000;
const SLEEP_MS = 45_000;
/** One setting that the reference has by default, for comparison. */
const LIMIT = { PERDURE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: "1000" };

const sleeping: Row = {
  name: "sleeping-then-noop",
  title: `${SLEEPING.toLocaleString("en")} handlers in \`sleep(${SLEEP_MS / 1_000} s)\`, then a no-op`,
  secondsMax: 180,
  isFresh: true,
  figures: { noOpMs: { title: "the no-op", unit: "ms", goal: atMost(200) } },
  measure: async ({ server, isShort, signal }) => {
    const count = isShort ? 100 : SLEEPING;
    await callMany(count, () => post(server, "Waiting/sleep/send", String(SLEEP_MS), signal));
    return { noOpMs: await noOpMs(server, signal) };
  },
};

const parents: Row = {
  name: "parents",
  title: `${PARENTS.toLocaleString("en")} parents that each call one child, at once`,
  secondsMax: 240,
  isFresh: true,
  isChecked: true,
  figures: {
    allMs: { title: "until all are done", unit: "ms", goal: ratioAtMost(1) },
    noOpMs: { title: "longest no-op of another caller meanwhile", unit: "ms", goal: ratioAtMost(1) },
    cpuUs: { title: "server CPU per parent", unit: "µs", isCpu: true },
  },
  measure: async (run) => {
    const { server, isShort, signal } = run;
    const count = isShort ? 100 : PARENTS;
    const callParent = async (n: number): Promise<void> =>
      expectEqual(`the answer of parent ${n}`, await post(server, "Waiting/call", String(n), signal), String(n));
    const { result, cpu, ms } = await withCpu(run, () =>
      longestDuring(callMany(count, callParent, count), () => noOpMs(server, signal)),
    );
    return { allMs: ms, noOpMs: result, cpuUs: perInvocationUs(cpu.server, count) };
  },
};

const sends: Row = {
  name: "sends-then-noop",
  title: `${SENDS.toLocaleString("en")} one-way calls, then a no-op`,
  secondsMax: 400,
  isFresh: true,
  figures: {
    noOpMs: { title: "the no-op", unit: "ms" },
    acceptedPerSecond: { title: "one-way calls accepted", unit: "/s" },
  },
  measure: async ({ server, isShort, signal }) => {
    const count = isShort ? 500 : SENDS;
    const began = performance.now();
    await callMany(count, () => post(server, "Waiting/quick/send", "0", signal));
    const acceptedPerSecond = (count / (performance.now() - began)) * 1_000;
    return { noOpMs: await noOpMs(server, signal), acceptedPerSecond };
  },
};

const limited = (row: Row): Row => ({
  ...row,
  name: `${row.name}-limit-1000`,
  title: `${row.title}, with a limit of 1,000 for Perdure`,
  settings: LIMIT,
  servers: ["perdure", "other"],
  isChecked: false,
});

export const rows: readonly Row[] = [sleeping, limited(sleeping), parents, limited(parents), sends];
