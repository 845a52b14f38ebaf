/**
 * The demo behind `make run`: starts Perdure and the greeter, calls each kind of service, then kills the server with SIGKILL in
 * the middle of a slow invocation and shows that it finishes where it left off. Afterwards everything stays up until Ctrl-C.
 * With `--once` (or PERDURE_DEMO_ONCE=1) it stops when the story is told. Exit code 1 when the story did not come true.
 */
import { connect } from "node:net";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Program } from "#demo/program";
import { type Addresses, attach, call, checkHealth, register, send } from "#demo/server-api";
import { fact, heading, line, paint, seconds, waitFor } from "#demo/terminal";
import { PARTY_STEPS } from "#services/greeter";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const ports = {
  ingress: Number(process.env["PERDURE_INGRESS__BIND_PORT"] ?? 8080),
  admin: Number(process.env["PERDURE_ADMIN__BIND_PORT"] ?? 9070),
  greeter: Number(process.env["GREETER_PORT"] ?? 9080),
};
const server: Addresses = { ingress: `http://localhost:${ports.ingress}`, admin: `http://localhost:${ports.admin}` };
const once = process.argv.includes("--once") || process.env["PERDURE_DEMO_ONCE"] === "1";
const READY_WITHIN_MS = 20_000;
const KILL_AFTER_STEPS = 3;
const DOWNTIME_MS = 1500;

const programs: Program[] = [];

function startServer(): Program {
  const program = new Program({ name: "the server", command: `${root}/perdure`, args: ["server"], cwd: root, env: process.env });
  programs.push(program);
  return program;
}

function startGreeter(onLine: (line: string) => void): Program {
  const env = { ...process.env, PORT: String(ports.greeter), RESTATE_LOGGING: "ERROR" };
  const args = [`${root}/examples/greeter/src/main.ts`];
  const program = new Program({ name: "the greeter", command: process.execPath, args, cwd: root, env, onLine });
  programs.push(program);
  return program;
}

/** Programs are stopped in the reverse order of their start, so that the server can finish with the greeter still there. */
async function stopAll(): Promise<void> {
  for (const program of programs.toReversed()) await program.stop();
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect({ port, host: "localhost" });
    socket.once("connect", () => {
      socket.destroy();
      answer(true);
    });
    socket.once("error", () => answer(false));
  });
}

const ESCAPES = {
  ingress: "PERDURE_INGRESS__BIND_PORT=18080 make run",
  admin: "PERDURE_ADMIN__BIND_PORT=19070 make run",
  greeter: "GREETER_PORT=19080 make run",
};

async function checkPorts(): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    if (!(await isTaken(port))) continue;
    const advice = ESCAPES[name as keyof typeof ESCAPES];
    throw new Error(`port ${port} is in use by another program. Stop that program, or choose another port: ${advice}`);
  }
}

/** Steps of the party that really ran, in order, told by the greeter itself. */
const stepsRan: string[] = [];
let onStep = (): void => undefined;

function heard(text: string): void {
  const step = /^ran "(.*)" for Ada$/.exec(text)?.[1];
  if (step === undefined || !PARTY_STEPS.includes(step)) return;
  stepsRan.push(step);
  onStep();
}

function untilSteps(count: number): Promise<void> {
  return new Promise((done) => {
    onStep = () => {
      if (stepsRan.length >= count) done();
    };
    onStep();
  });
}

async function comeUp(what: string, program: Program): Promise<void> {
  await waitFor(
    what,
    () => `the server answers on ${server.ingress}`,
    program.untilReady(() => checkHealth(server), READY_WITHIN_MS),
  );
}

async function callEachKind(): Promise<void> {
  heading("One call of each kind");
  fact(`Greeter/greet, a service:          ${JSON.stringify(await call(server, "Greeter/greet", "Ada"))}`);
  const count = await call(server, "Counter/demo/add", 1);
  fact(`Counter/demo/add, a virtual object: ${JSON.stringify(count)}${count === 1 ? "" : "  (it remembers earlier runs)"}`);

  const key = `ada-${Date.now()}`;
  const id = await send(server, `Signup/${key}/run`, "ada@example.com");
  fact(`Signup/${key}/run, a workflow, is waiting for its confirmation`);
  await call(server, `Signup/${key}/confirm`, "Grace");
  fact(`confirmed, so it ends:             ${JSON.stringify(await attach(server, id))}`);
}

/** Whether everything came true. */
async function killInTheMiddle(victim: Program): Promise<boolean> {
  heading(`A slow invocation: Greeter/party has ${PARTY_STEPS.length} steps`);
  stepsRan.length = 0;
  const startedAt = performance.now();
  const id = await send(server, "Greeter/party", "Ada");
  await waitFor(`the first ${KILL_AFTER_STEPS} steps`, () => `${KILL_AFTER_STEPS} steps are done`, untilSteps(KILL_AFTER_STEPS));
  await delay(200); // In the middle of the next one.

  await victim.kill();
  const finishedBefore = [...stepsRan];
  fact(paint("bold", "the server is dead: kill -9, no chance to save anything"), "✗");
  await delay(DOWNTIME_MS);
  await comeUp("starting the server again, on the same data", startServer());
  const answer = await waitFor("the invocation goes on", (value) => `answer: ${JSON.stringify(value)}`, attach(server, id));

  line();
  line(`  ${paint("bold", "step".padEnd(20))} ${paint("bold", "ran before".padEnd(12))} ${paint("bold", "ran after the crash")}`);
  const runsOf = (step: string, steps: readonly string[]) => steps.filter((one) => one === step).length;
  const after = stepsRan.slice(finishedBefore.length);
  for (const step of PARTY_STEPS) {
    const before = runsOf(step, finishedBefore) > 0 ? "yes" : "";
    const again = runsOf(step, after) > 0 ? "yes" : paint("gray", "no, its result was stored");
    line(`  ${step.padEnd(20)} ${before.padEnd(12)} ${again}`);
  }
  line();
  const repeated = finishedBefore.filter((step) => after.includes(step));
  const complete = PARTY_STEPS.every((step) => stepsRan.includes(step)) && answer !== undefined;
  if (repeated.length > 0 || !complete) {
    fact(`steps that ran twice although they were done: ${repeated.join(", ") || "none"}; all steps ran: ${complete}`, "✗");
    return false;
  }
  fact(
    `${finishedBefore.length} finished steps were not repeated; all in all it took ${seconds(performance.now() - startedAt)}, crash included`,
  );
  return true;
}

function showWhatNext(): void {
  heading("Both stay up. Try:");
  const json = "--json"; // curl's short way to a JSON body.
  line(`  curl ${server.ingress}/Greeter/greet ${json} '"Grace"'`);
  line(`  curl ${server.ingress}/Counter/demo/add ${json} '5'`);
  line(`  curl ${server.admin}/deployments`);
  line();
  line(`  ingress ${server.ingress}   admin ${server.admin}   data ${root}/perdure-data`);
  line(paint("gray", "  Ctrl-C stops everything; the data stays."));
}

async function tellTheStory(): Promise<boolean> {
  await checkPorts();
  heading("Perdure: durable execution");
  const first = startServer();
  await comeUp("starting the server", first);
  const greeter = startGreeter(heard);
  const registered = greeter.untilReady(async () => {
    if (!(await isTaken(ports.greeter))) throw new Error("not listening yet");
  }, READY_WITHIN_MS);
  const uri = `http://localhost:${ports.greeter}`;
  const found = registered.then(() => register(server, uri));
  await waitFor("starting the greeter", (names) => `the greeter is registered: ${names.join(", ")}`, found);
  await callEachKind();
  const cameTrue = await killInTheMiddle(first);
  if (cameTrue && !once) showWhatNext();
  return cameTrue;
}

const interrupted = new Promise<void>((stop) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => stop());
  }
});

let exitCode = 0;
try {
  const story = tellTheStory();
  const told = await Promise.race([story, interrupted]);
  if (told === false) exitCode = 1;
  if (told === true && !once) {
    await Promise.race([interrupted, untilOneDies()]);
  }
} catch (cause) {
  line();
  line(`${paint("red", "✗")} ${cause instanceof Error ? cause.message : String(cause)}`);
  exitCode = 1;
}
line();
line(paint("gray", "stopping …"));
await stopAll();
process.exit(exitCode); // An interrupted story may still hold requests open.

async function untilOneDies(): Promise<void> {
  for (;;) {
    await delay(500);
    const alive = programs.filter((program) => program.isRunning);
    if (alive.length < 2) {
      line(`${paint("red", "✗")} a program ended by itself`);
      exitCode = 1;
      return;
    }
  }
}
