/**
 * Compares environments for tests: `make build`, then `node_modules/node/bin/node libs/testing/conformance/bench/run.mjs test-environments`.
 *
 *     perdure     @perdure/testing, the engine in the process of the test
 *     reference   a server process for each test, as testcontainers has it, without the time that Docker adds
 *     temporal    TestWorkflowEnvironment of Temporal's Java SDK, in the process of the test (needs Java and Maven)
 *
 * Each runs the same three pieces of work in a process of its own, in alternating rounds: the first test, then `TESTS` tests with an
 * environment each, then a workflow of 30 days with a step and a sleep on each.
 */
import { execFileSync } from "node:child_process";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { endpoint as endpointOf, type WorkflowContext, workflow } from "@restatedev/restate-sdk";
import type { Ingress } from "@restatedev/restate-sdk-clients";
import { median } from "./harness/figures.js";
import { root } from "./harness/processes.js";
import { Server } from "./harness/servers.js";

const TESTS = Number(process.env["TESTS"] ?? 100);
const ROUNDS = Number(process.env["ROUNDS"] ?? 3);
const DAYS = 30;

interface Measured {
  /** From the start of the process until the first test has ended. */
  readonly firstMs: number;
  readonly allMs: number;
  /** Undefined where time cannot be skipped. */
  readonly monthMs: number | undefined;
}

/** One test: its environment, one workflow of so many days, and the end of the environment. */
type Test = (days: number) => Promise<void>;

const month = workflow({
  name: "Month",
  handlers: {
    run: async (ctx: WorkflowContext, days: number): Promise<number> => {
      for (let day = 0; day < days; day++) {
        await ctx.run("remind", () => undefined);
        await ctx.sleep({ days: 1 });
      }
      return days;
    },
  },
});

/** What the comparison uses of `@perdure/testing`. */
interface TestingPackage {
  readonly TestEnvironment: {
    start(options: { readonly services: readonly unknown[] }): Promise<AsyncDisposable & { client(): Ingress }>;
  };
}

/** The built package, as users import it. */
async function onPerdure(): Promise<Test> {
  const entry = pathToFileURL(join(root, "services/test-environment/dist/index.mjs"));
  const { TestEnvironment } = (await import(entry.href)) as TestingPackage;
  return async (days) => {
    await using environment = await TestEnvironment.start({ services: [month] });
    const client = environment.client().workflowClient(month, "w");
    await client.workflowSubmit(days);
    if ((await client.workflowAttach()) !== days) throw new Error("the workflow returned something else");
  };
}

async function onReference(): Promise<Test> {
  const listener = createServer(endpointOf().bind(month).http2Handler());
  await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
  const { port } = listener.address() as AddressInfo;
  return async (days) => {
    await using server = await Server.create("reference");
    await server.start();
    await server.register(`http://127.0.0.1:${port}`);
    const body = JSON.stringify(days);
    const answer = await fetch(`${server.ingress}/Month/w/run`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    if ((await answer.json()) !== days) throw new Error("the workflow returned something else");
  };
}

async function measure(test: Test, startedMs: number, skipsTime: boolean): Promise<Measured> {
  await test(0);
  const firstMs = Date.now() - startedMs;
  const beganMs = performance.now();
  for (let n = 0; n < TESTS; n++) await test(0);
  const monthBeganMs = performance.now();
  if (skipsTime) await test(DAYS);
  const endedMs = performance.now();
  return { firstMs, allMs: monthBeganMs - beganMs, monthMs: skipsTime ? endedMs - monthBeganMs : undefined };
}

// ── the comparison ───────────────────────────────────────────────────────

/** The Java program, built once. */
function temporalCommand(): readonly string[] {
  const project = fileURLToPath(new URL("temporal/", import.meta.url));
  execFileSync("mvn", ["--batch-mode", "--quiet", "package"], { cwd: project, stdio: ["ignore", "ignore", "inherit"] });
  return ["java", "-cp", `${project}target/classes:${project}target/dependencies/*`, "dev.perdure.bench.Measure"];
}

function run([command = "", ...args]: readonly string[]): Measured {
  const text = execFileSync(command, [...args, String(Date.now()), String(TESTS)], { encoding: "utf8", maxBuffer: 1 << 26 });
  return JSON.parse(text.trim().split("\n").at(-1) ?? "") as Measured;
}

function compare(): void {
  const self = [process.execPath, ...process.argv.slice(1)];
  const commands: Readonly<Record<string, readonly string[]>> = {
    perdure: [...self, "perdure"],
    reference: [...self, "reference"],
    temporal: temporalCommand(),
  };
  const results = Object.keys(commands).map((name) => ({ name, rounds: [] as Measured[] }));
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { name, rounds } of results) {
      console.error(`round ${round} of ${ROUNDS}: ${name}`);
      rounds.push(run(commands[name] ?? []));
    }
  }
  const middle = (rounds: readonly Measured[], of: (measured: Measured) => number | undefined): string => {
    const values = rounds.map(of).filter((value) => value !== undefined);
    return values.length === 0 ? "not possible: sleeps are real" : `${Math.round(median(values))}`;
  };
  console.log(`| | first test, ms | ${TESTS} tests, ms | ${DAYS} days, ms |\n|---|---|---|---|`);
  for (const { name, rounds } of results) {
    const columns = [
      middle(rounds, (each) => each.firstMs),
      middle(rounds, (each) => each.allMs),
      middle(rounds, (each) => each.monthMs),
    ];
    console.log(`| ${name} | ${columns.join(" | ")} |`);
  }
}

const [mode, startedMs] = process.argv.slice(3);
if (mode === undefined) compare();
else {
  const test = mode === "perdure" ? await onPerdure() : await onReference();
  console.log(JSON.stringify(await measure(test, Number(startedMs), mode === "perdure")));
  process.exit(0);
}
