/** Very many invocations that sleep: what they weigh, how a server starts again with them, and how they wake. */
import { setTimeout as delay } from "node:timers/promises";
import { callMany, longestDuring, noOpMs, post, query } from "../harness/calls.js";
import { diskMiB, until } from "../harness/processes.js";
import { atMost, expectEqual, type Row, type Run, withCpu } from "../harness/row.js";
import { healthMs } from "../harness/stalls.js";

const COUNTS = [100_000, 1_000_000] as const;
const SHORT_SHARE = 0.002;
/** The first tenth only fills memory that every process keeps, however few sleep. It outlives the row. */
const FIRST_SHARE = 0.1;
const FIRST_SLEEP_MS = 6 * 3_600_000;
/** All wake within this time. */
const SPREAD_MS = 5_000;
/** Time to fall asleep, by the rate of the first tenth, with a margin for a rate that falls; and to become idle and start again. */
const MARGIN = 1.5;
const MARGIN_MS = 150_000;
const MARGIN_SHORT_MS = 15_000;
/** A process that has become idle collects what the work left behind. */
const COLLECTED_MS = 20_000;
const IDLE_CPU_SHARE = 0.1;

export const rows: readonly Row[] = COUNTS.map((count) => ({
  name: `asleep-${count}`,
  title: `${count.toLocaleString("en")} asleep`,
  secondsMax: count === 1_000_000 ? 7_200 : 1_500,
  isFresh: true,
  figures: {
    asleepUs: { title: "server CPU to put one to sleep", unit: "µs", isCpu: true },
    bytesEach: { title: "memory of each", unit: "bytes", goal: atMost(500) },
    diskMiB: { title: "on disk", unit: "MiB" },
    restartMs: { title: "start to healthy after SIGKILL", unit: "ms", goal: atMost(5_000) },
    firstCallMs: { title: "… then the first no-op", unit: "ms" },
    wakeUs: { title: "server CPU to wake one", unit: "µs", isCpu: true },
    wakePerSecond: { title: "woken", unit: "/s" },
    healthMs: { title: "longest answer of /health while they wake", unit: "ms" },
  },
  measure: (run) => measure(run, run.isShort ? count * SHORT_SHARE : count),
}));

async function measure(run: Run, count: number): Promise<Record<string, number>> {
  const { server, firstId, isShort, signal } = run;
  const first = Math.ceil(count * FIRST_SHARE);
  const rest = count - first;
  const sleep = (id: number, ms: number): Promise<string> =>
    post(server, "Sleeper/sleep/send", JSON.stringify({ id, ms: Math.round(ms) }), signal);

  const began = performance.now();
  await callMany(first, (n) => sleep(firstId + rest + n, FIRST_SLEEP_MS));
  const msEach = (performance.now() - began) / first;
  await untilIdle(run);
  const beforeMiB = server.residentMiB();

  const wakeUpAtMs = Date.now() + rest * msEach * MARGIN + (isShort ? MARGIN_SHORT_MS : MARGIN_MS);
  const { cpu: asleep } = await withCpu(run, async () => {
    await callMany(rest, (n) => sleep(firstId + n, Math.max(0, wakeUpAtMs - Date.now()) + (n % SPREAD_MS)));
    await untilIdle(run);
  });
  const bytesEach = Math.max(0, ((server.residentMiB() - beforeMiB) * 1024 * 1024) / rest);
  const onDiskMiB = diskMiB(server.directory);

  const [suspended] = await query(server, "SELECT COUNT(*) AS n FROM sys_invocation WHERE status = 'suspended'", signal);
  expectEqual("suspended invocations", Number(suspended?.["n"]), count);

  await server.stop("SIGKILL");
  const restartMs = await server.start(signal);
  const firstCallMs = await noOpMs(server, signal);
  if (Date.now() > wakeUpAtMs) throw new Error("the machine was too slow: invocations woke before the restart");

  await delay(Math.max(0, wakeUpAtMs - 1_000 - Date.now()), undefined, { signal });
  const wakingSince = Date.now();
  const woken = async (): Promise<{ woken: number; twice: number }> =>
    JSON.parse(await post(server, "Sleeper/count", JSON.stringify({ from: firstId, to: firstId + rest }), signal));
  const all = (): Promise<void> =>
    until("all to wake", async () => (await woken()).woken >= rest, { withinMs: 3_600_000, pollMs: 500, signal });
  const { result: longestHealthMs, cpu: waking } = await withCpu(run, () => longestDuring(all(), () => healthMs(server, signal)));
  const wokenMs = Math.max(1, Date.now() - Math.max(wakingSince, wakeUpAtMs));
  await delay(1_000); // Whatever would wake twice has the time to.
  const counted = await woken();
  if (counted.woken !== rest || counted.twice !== 0)
    throw new Error(`${counted.woken} of ${rest} have woken, ${counted.twice} of them twice`);
  return {
    asleepUs: (asleep.server / rest) * 1e6,
    bytesEach,
    diskMiB: onDiskMiB,
    restartMs,
    firstCallMs,
    wakeUs: (waking.server / rest) * 1e6,
    wakePerSecond: (rest / wokenMs) * 1_000,
    healthMs: longestHealthMs,
  };
}

/** Resolves when the server has used little processor time for a second, and had the time to collect garbage. */
async function untilIdle({ server, isShort, signal }: Run): Promise<void> {
  const isIdle = async (): Promise<boolean> => {
    const before = server.cpuSeconds();
    await delay(1_000);
    return server.cpuSeconds() - before < IDLE_CPU_SHARE;
  };
  await until("the server to be idle", isIdle, { withinMs: isShort ? 60_000 : 900_000, signal });
  if (!isShort) await delay(COLLECTED_MS, undefined, { signal });
}
