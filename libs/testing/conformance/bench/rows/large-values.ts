/** Values of 0.1, 1 and 10 MB: states, and what comes in and goes out. */
import { setTimeout as delay } from "node:timers/promises";
import { callMany, post } from "../harness/calls.js";
import { percentile } from "../harness/figures.js";
import { expectEqual, type Figure, type Goal, type Readings, type Row, type Run, ratioAtMost, withCpu } from "../harness/row.js";

const MEGABYTES = [0.1, 1, 10] as const;
const CALLERS = 4;
const OBJECTS = 8;
const LATER_MS = 5_000;

/** One kind of call; it throws when the answer is not the one that the value demands. */
interface Work {
  readonly key: string;
  readonly title: string;
  readonly call: (run: Run, bytes: number, n: number) => Promise<void>;
}

const object = (n: number): string => `Keeper/k${n % OBJECTS}`;
const textOf = (bytes: number): string => JSON.stringify("x".repeat(bytes));

async function expectAnswer(run: Run, path: string, body: string | undefined, expected: string): Promise<void> {
  const answer = await post(run.server, path, body, run.signal);
  if (answer !== expected) throw new Error(`${path}: the answer of ${answer.length} characters is not the expected one`);
}

const STATES: readonly Work[] = [
  {
    key: "write",
    title: "state written",
    call: (run, bytes, n) => expectAnswer(run, `${object(n)}/write`, String(bytes), String(bytes)),
  },
  { key: "read", title: "state read", call: (run, bytes, n) => expectAnswer(run, `${object(n)}/read`, undefined, String(bytes)) },
  {
    key: "replace",
    title: "state read and replaced",
    call: (run, bytes, n) => expectAnswer(run, `${object(n)}/replace`, String(bytes), String(bytes)),
  },
  {
    key: "touch",
    title: "small state beside it changed",
    call: async (run, _bytes, n) => {
      const answer = Number(await post(run.server, `${object(n)}/touch`, undefined, run.signal));
      if (!(answer >= 1)) throw new Error(`touch answered ${answer}`);
    },
  },
];

const PAYLOADS: readonly Work[] = [
  { key: "echo", title: "payload returned", call: (run, bytes) => expectAnswer(run, "Bench/echo", textOf(bytes), textOf(bytes)) },
  { key: "take", title: "payload taken", call: (run, bytes) => expectAnswer(run, "Bench/take", textOf(bytes), String(bytes)) },
  { key: "make", title: "result made", call: (run, bytes) => expectAnswer(run, "Bench/make", String(bytes), textOf(bytes)) },
  { key: "step", title: "result of a step", call: (run, bytes) => expectAnswer(run, "Bench/step", String(bytes), String(bytes)) },
];

export const rows: readonly Row[] = MEGABYTES.flatMap((megabytes) => [
  rowOf("state", STATES, megabytes, ratioAtMost(0.8)),
  rowOf("payload", PAYLOADS, megabytes, ratioAtMost(0.6)),
]);

function rowOf(kind: "state" | "payload", works: readonly Work[], megabytes: number, cpuGoal: Goal): Row {
  const bytes = megabytes * 1_000_000;
  const figures = works.flatMap(({ key, title }): [string, Figure][] => [
    [
      `${key}Us`,
      { title: `${title}: server CPU per invocation`, unit: "µs", isCpu: true, ...(megabytes === 1 ? { goal: cpuGoal } : {}) },
    ],
    [`${key}Ms`, { title: `${title}: p50`, unit: "ms" }],
  ]);
  return {
    name: `${kind}-${megabytes}MB`,
    title: `${kind === "state" ? "a state" : "payloads"} of ${megabytes} MB, ${CALLERS} callers`,
    secondsMax: 600,
    isChecked: megabytes === 1,
    figures: { ...Object.fromEntries(figures), laterMiB: { title: `resident ${LATER_MS / 1_000} s later`, unit: "MiB" } },
    prepare: async (run) => {
      // States have the size before they are read.
      for (const work of works) await callMany(OBJECTS, (n) => work.call(run, bytes, n), CALLERS);
    },
    measure: async (run) => {
      const readings: Record<string, number> = {};
      for (const work of works) Object.assign(readings, await measureWork(run, work, bytes));
      await delay(run.isShort ? 500 : LATER_MS);
      return { ...readings, laterMiB: run.server.residentMiB() };
    },
  };
}

async function measureWork(run: Run, { key, call }: Work, bytes: number): Promise<Readings> {
  const count = run.isShort ? CALLERS : Math.ceil(100_000_000 / Math.max(bytes, 1_000_000));
  const times: number[] = [];
  const { cpu } = await withCpu(run, () =>
    callMany(
      count,
      async (n) => {
        const began = performance.now();
        await call(run, bytes, n);
        times.push(performance.now() - began);
      },
      CALLERS,
    ),
  );
  expectEqual("calls", times.length, count);
  return { [`${key}Us`]: (cpu.server / count) * 1e6, [`${key}Ms`]: percentile(times, 0.5) };
}
