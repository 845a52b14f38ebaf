/** Handlers with long journals: what each entry costs, and what it costs to resume behind them. */
import { setTimeout as delay } from "node:timers/promises";
import { post, query } from "../harness/calls.js";
import { until } from "../harness/processes.js";
import { expectEqual, type Row, type Run, withCpu } from "../harness/row.js";

const LENGTHS = [1_000, 10_000] as const;
const SLEEP_MS = 20_000;
const SLEEP_SHORT_MS = 3_000;

export const rows: readonly Row[] = LENGTHS.map((entries) => ({
  name: `journal-${entries}`,
  title: `a journal of ${entries.toLocaleString("en")} entries`,
  secondsMax: 600,
  isChecked: entries === 1_000,
  figures: {
    entryUs: { title: "server CPU per entry", unit: "µs", isCpu: true },
    entryWallUs: { title: "time per entry", unit: "µs" },
    resumeMs: { title: "server CPU to resume behind them", unit: "ms" },
  },
  measure: async (run) => {
    // Each step is a command and its notification.
    const steps = Math.ceil((run.isShort ? entries / 10 : entries) / 2);
    const { server, signal } = run;
    const { result, cpu, ms } = await withCpu(run, () => post(server, "Journal/steps", String(steps), signal));
    expectEqual("steps", result, String(steps));
    return {
      entryUs: (cpu.server / steps / 2) * 1e6,
      entryWallUs: (ms / steps / 2) * 1e3,
      resumeMs: await resumeMs(run, steps),
    };
  },
}));

/** CPU milliseconds of the server from the time when the invocation is suspended behind its steps until it has ended. */
async function resumeMs(run: Run, steps: number): Promise<number> {
  const { server, isShort, signal } = run;
  const sleepMs = isShort ? SLEEP_SHORT_MS : SLEEP_MS;
  const answer = post(server, "Journal/stepsAndSleep", JSON.stringify({ count: steps, ms: sleepMs }), signal);
  answer.catch(() => {}); // Awaited below.
  const sql = "SELECT id FROM sys_invocation WHERE target_service_name = 'Journal' AND status = 'suspended'";
  await until("the invocation to be suspended", async () => (await query(server, sql, signal)).length === 1, {
    withinMs: 300_000,
    pollMs: 200,
    signal,
  });
  await delay(isShort ? 200 : 1_000); // What the statement and the suspension left to do is over.
  const { result, cpu } = await withCpu(run, () => answer);
  expectEqual("steps", result, String(steps));
  return cpu.server * 1e3;
}
