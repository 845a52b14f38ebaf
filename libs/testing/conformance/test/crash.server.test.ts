/** A server that is killed again and again loses nothing that it accepted, and does nothing twice. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ChildProgram } from "@perdure/processes";
import { freePorts } from "@perdure/servers";
import { SeededRandom } from "@perdure/testkit";
import { eventually, probe, StubbornClient, TestWorld } from "../src/index.js";
import { type CrashJob, counterObject, workService } from "../src/services/crash.js";

/** PERDURE_CONFORMANCE_SEED plays other rounds; a failure names the seed of its own. */
const SEED = Number(process.env["PERDURE_CONFORMANCE_SEED"] ?? 20_261_121);
const ROUNDS = 12;
/** Time until a server is killed: from during its start to under full load. */
const LIFETIME_MS_MAX = 700;
const CALLERS = 12;
const COUNTERS = 6;
const WHOLE_TEST_MS = 120_000;

let world: TestWorld;
let client: StubbornClient;
beforeAll(async () => {
  // Half of the handlers wait with an open stream, half are suspended: the endpoint declares the one, the sleeps give the other.
  world = await TestWorld.start({ settings: { "worker.invoker.inactivity-timeout": "25ms" } });
  await world.deploy({ services: [counterObject], kind: "h2-bidi" });
  await world.deploy({ services: [workService], kind: "h2-bidi" });
  client = new StubbornClient(world.server.ingressUrl);
});
afterAll(async () => {
  client[Symbol.dispose]();
  await world[Symbol.asyncDispose]();
});

describe(`a server killed ${ROUNDS} times under load (seed ${SEED})`, () => {
  test(
    "completes every job exactly once, with sums that are exact and steps that keep their values",
    async () => {
      const random = new SeededRandom(SEED);
      const done: CrashJob[] = [];
      const expected = new Map<string, number>();
      let stop = false;

      async function caller(number: number, mine: SeededRandom): Promise<void> {
        for (let i = 0; !stop; i++) {
          const counters = Array.from({ length: 1 + mine.below(3) }, () => `count ${mine.below(COUNTERS)}`);
          const job = { name: `${number}.${i}`, steps: 1 + mine.below(4), sleepMs: mine.below(60), counters };
          for (const [index, key] of counters.entries())
            expected.set(key, (expected.get(key) ?? 0) + (index === 0 ? job.steps : 1));
          const how = mine.chance(0.5) ? "call" : "sendAndAttach";
          const values = await client[how]<string[]>(["Work", "work"], job, `job ${job.name}`);
          expectOneValuePerStep(job, values);
          done.push(job);
          await delay(mine.below(30));
        }
      }

      const callers = Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number, random.fork())));
      for (let round = 0; round < ROUNDS; round++) {
        await delay(random.below(LIFETIME_MS_MAX));
        await world.server.kill();
        await world.server.startAgain();
      }
      stop = true;
      await callers;

      expect(done.length).toBeGreaterThan(CALLERS);
      expect(client.retries).toBeGreaterThan(ROUNDS);
      // What was sent and not awaited is done a little later.
      for (const [key, sum] of expected) await expectSum(key, sum);
    },
    WHOLE_TEST_MS,
  );
});

describe("an endpoint killed in the middle of its steps", () => {
  test(
    "continues in its next life, repeating no step that was done",
    async () => {
      const random = new SeededRandom(SEED);
      const file = join(world.server.baseDir, "steps");
      const port = String((await freePorts(1))[0]);
      const names = Array.from({ length: 8 }, (_, i) => `walk ${i}`);
      const steps = 12;
      writeFileSync(file, "");
      const runsOf = (name: string): string[] => linesOf(file).filter((run) => run.startsWith(`${name}/`));
      let endpoint = await startEndpoint(port, file);
      await world.admin.register({ uri: `http://127.0.0.1:${port}` });
      const walks = names.map((name) => client.sendAndAttach<string[]>(["Fragile", "walk"], { name, steps, ms: 20 }, name));
      let starts = 1;
      for (; starts < 6; starts++) {
        // A walk that ran another step in this process: the step before it is stored.
        const before = names.map((name) => new Set(runsOf(name)).size);
        const hasProgress = () => names.some((name, i) => new Set(runsOf(name)).size >= Math.min(steps, (before[i] ?? 0) + 2));
        await eventually("a step that this process stored", hasProgress);
        await delay(random.below(60));
        await endpoint.kill();
        endpoint = await startEndpoint(port, file);
      }
      const results = await Promise.all(walks);
      await endpoint.kill();

      const processes = new Set(results.flat().map((value) => value.split(" in ")[1]));
      expect(processes.size).toBeGreaterThan(1);
      for (const [i, values] of results.entries()) {
        expect(values.map((value) => Number(value.split(" ")[0]))).toEqual(Array.from({ length: steps }, (_, step) => step));
        // A death interrupts one step of a walk at most, and only that one runs again.
        const ran = runsOf(names[i] as string);
        expect(new Set(ran).size).toBe(steps);
        expect(ran.length).toBeLessThan(steps + starts);
      }
    },
    WHOLE_TEST_MS,
  );
});

const linesOf = (file: string): string[] => readFileSync(file, "utf8").trim().split("\n");

async function startEndpoint(port: string, file: string): Promise<ChildProgram> {
  const program = fileURLToPath(new URL("./programs/endpoint.ts", import.meta.url));
  const env = { PATH: process.env["PATH"] };
  const child = await ChildProgram.start({ name: "the endpoint", command: process.execPath, args: [program, port, file], env });
  await child.ready(() => child.lines.includes("listening"));
  return child;
}

/** Every attempt got the value that the job returned; only the last run of a step counts, and its number identifies it. */
function expectOneValuePerStep(job: CrashJob, values: readonly string[]): void {
  expect(values).toHaveLength(job.steps);
  for (const [step, value] of values.entries()) {
    expect(value).toBe(`${job.name}/${step}/${value.split("/").at(-1)}`);
    expect(new Set(probe.list(`saw:${job.name}/${step}`))).toEqual(new Set([value]));
  }
}

async function expectSum(key: string, sum: number): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const present = await world.ingress.result<number>(["Tally", key, "sum"]);
    if (present === sum || present > sum || performance.now() > deadline) return expect([key, present]).toEqual([key, sum]);
    await delay(20);
  }
}
