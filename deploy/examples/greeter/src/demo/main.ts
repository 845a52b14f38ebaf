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

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");
const ports = {
  ingress: Number(process.env["PERDURE_INGRESS__BIND_PORT"] ?? 8080),
  admin: Number(process.env["PERDURE_ADMIN__BIND_PORT"] ?? 9070),
  greeter: Number(process.env["GREETER_PORT"] ?? 9080),
};
const server: Addresses = { ingress: `http://localhost:${ports.ingress}`, admin: `http://localhost:${ports.admin}` };
const once = process.argv.includes("--once") || process.env["PERDURE_DEMO_ONCE"] === "1";
const READY_WITHIN_MS = 20_000;
const KILL_AFTER_STEPS = 3;
const MIDDLE_OF_STEP_MS = 200;
const DOWNTIME_MS = 1500;

const programs: Program[] = [];

function startServer(): Program {
  const program = new Program({ name: "the server", command: `${root}/perdure`, args: ["server"], cwd: root, env: process.env });
  programs.push(program);
  return program;
}

function startGreeter(onLine: (line: string) => void): Program {
  const env = { ...process.env, PORT: String(ports.greeter), RESTATE_LOGGING: "ERROR" };
  const args = [`${root}/deploy/examples/greeter/src/main.ts`];
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

const VARIABLES = { ingress: "PERDURE_INGRESS__BIND_PORT", admin: "PERDURE_ADMIN__BIND_PORT", greeter: "GREETER_PORT" };

async function checkPorts(): Promise<void> {
  for (const [name, port] of Object.entries(ports)) {
    if (!(await isTaken(port))) continue;
    const advice = `${VARIABLES[name as keyof typeof VARIABLES]}=${port + 1} make run`;
    throw new Error(`port ${port} is in use by another program. Stop that program, or choose another port: ${advice}`);
  }
}

/** Unlike that of any earlier run: an interrupted one goes on as soon as its greeter is back, and is none of this run's business. */
const guest = `Ada-${Date.now().toString(36).slice(-4)}`;

/** What the greeter itself told of the guest's party: steps that began, and steps that ran to their end. */
const party = { began: [] as string[], ran: [] as string[] };
let onStep = (): void => undefined;

function heard(text: string): void {
  const [, what, step, forWhom] = /^(began|ran) "(.*)" for (.*)$/.exec(text) ?? [];
  if (step === undefined || forWhom !== guest) return;
  (what === "ran" ? party.ran : party.began).push(step);
  onStep();
}

/** A step begins when the server has confirmed the one before, so the finished ones are then safely stored. */
function untilInTheMiddle(): Promise<void> {
  return new Promise((done) => {
    onStep = () => {
      if (party.began.length > KILL_AFTER_STEPS) done();
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

/** `value` as JSON behind what was called, in columns. */
function result(what: string, value: unknown, note = ""): void {
  fact(`${what.padEnd(34)} ${JSON.stringify(value)}${paint("gray", note)}`);
}

async function callEachKind(): Promise<void> {
  heading("One call of each kind");
  result("Greeter/greet, a service", await call(server, "Greeter/greet", "Ada"));
  const count = await call(server, "Counter/demo/add", 1);
  result("Counter/demo/add, a virtual object", count, count === 1 ? "" : "  it remembers earlier runs");

  const key = guest.toLowerCase();
  const id = await send(server, `Signup/${key}/run`, "ada@example.com");
  result("Signup/…/status, a workflow", await untilWaiting(key));
  await call(server, `Signup/${key}/confirm`, "Grace");
  result("Signup/…/confirm lets it end", await attach(server, id));
}

/** The workflow was only sent off: it gets there in its own time. */
async function untilWaiting(key: string): Promise<unknown> {
  for (;;) {
    const status = await call(server, `Signup/${key}/status`);
    if (status !== "unknown") return status;
    await delay(20);
  }
}

/** Whether everything came true. */
async function killInTheMiddle(victim: Program): Promise<boolean> {
  heading(`A slow invocation: Greeter/party has ${PARTY_STEPS.length} steps`);
  const startedAt = performance.now();
  const id = await send(server, "Greeter/party", guest);
  await waitFor(
    `the first ${KILL_AFTER_STEPS} steps`,
    () => `${KILL_AFTER_STEPS} steps are done, the next has begun`,
    untilInTheMiddle(),
  );
  await delay(MIDDLE_OF_STEP_MS);
  await victim.kill();
  const before = { began: [...party.began], ran: [...party.ran] };
  fact(paint("bold", "the server is dead: kill -9, no chance to save anything"), "✗");

  await delay(DOWNTIME_MS); // The step that was under way ends meanwhile, with nobody there to store its result.
  const lost = party.ran.slice(before.ran.length);
  await comeUp("starting the server again, on the same data", startServer());
  const answer = await waitFor("the invocation goes on", (value) => `answer: ${JSON.stringify(value)}`, attach(server, id));
  const after = party.ran.slice(before.ran.length + lost.length);
  showSteps(before.ran, lost, after);

  const repeated = before.ran.filter((step) => after.includes(step));
  const missing = PARTY_STEPS.filter((step) => !party.ran.includes(step));
  if (repeated.length > 0 || missing.length > 0) {
    fact(`repeated although stored: ${repeated.join(", ") || "none"}; never ran: ${missing.join(", ") || "none"}`, "✗");
    return false;
  }
  const took = seconds(performance.now() - startedAt);
  fact(`${before.ran.length} finished steps were not repeated; all in all it took ${took}, crash included`);
  return answer !== undefined;
}

function showSteps(before: readonly string[], lost: readonly string[], after: readonly string[]): void {
  line();
  line(`    ${paint("bold", "step".padEnd(20))} ${paint("bold", "before the crash".padEnd(22))} ${paint("bold", "after")}`);
  for (const step of PARTY_STEPS) {
    const first = before.includes(step) ? "ran" : lost.includes(step) ? "ran, but not stored" : "";
    const second = after.includes(step) ? "ran" : paint("gray", "not repeated: its result was stored");
    line(`    ${step.padEnd(20)} ${first.padEnd(22)} ${second}`);
  }
  line();
}

function showWhatNext(): void {
  heading("Both stay up. Try:");
  const json = "-H 'content-type: application/json' -d";
  line(`  curl ${server.ingress}/Greeter/greet ${json} '"Grace"'`);
  line(`  curl ${server.ingress}/Counter/demo/add ${json} 5`);
  line(`  curl ${server.admin}/deployments`);
  line();
  line(
    `  ingress ${server.ingress}   admin ${server.admin}   data ${resolve(root, process.env["PERDURE_BASE_DIR"] ?? "perdure-data")}`,
  );
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
