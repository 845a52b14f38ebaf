/**
 * The demo behind `make run`: starts Perdure and the greeter, calls each kind of service, then kills the server with SIGKILL in the middle
 * of a slow invocation and shows that it continues where it stopped. Afterwards everything stays up until Ctrl-C. With `--once` (or
 * PERDURE_DEMO_ONCE=1) it stops after the demo. Exit code 1 when the demo failed.
 */
import { connect } from "node:net";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ChildProgram } from "@perdure/processes/child-program";
import { greeterListens, startGreeter } from "#demo/greeter-program";
import { beginParty, callEachKind, Party, showOutcome } from "#demo/scenario";
import { attach, checkHealth, register, type ServerAddresses } from "#demo/server-api";
import { fact, heading, line, paint, waitFor } from "#demo/terminal";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");
const ports = {
  ingress: Number(process.env["PERDURE_INGRESS__BIND_PORT"] ?? 8080),
  admin: Number(process.env["PERDURE_ADMIN__BIND_PORT"] ?? 9070),
  greeter: Number(process.env["GREETER_PORT"] ?? 9080),
};
const server: ServerAddresses = { ingress: `http://localhost:${ports.ingress}`, admin: `http://localhost:${ports.admin}` };
const once = process.argv.includes("--once") || process.env["PERDURE_DEMO_ONCE"] === "1";
const READY_WITHIN_MS = 20_000;
const DOWNTIME_MS = 1500;

const programs: ChildProgram[] = [];
const party = new Party();

function kept(program: ChildProgram): ChildProgram {
  programs.push(program);
  return program;
}

async function startServer(): Promise<ChildProgram> {
  return kept(await ChildProgram.start({ name: "the server", command: `${root}/perdure`, args: ["server"], cwd: root }));
}

/** Programs are stopped in the reverse order of their start, so that the server can finish with the greeter still there. */
async function stopAll(): Promise<void> {
  for (const program of programs.toReversed()) await program.stop();
}

function isPortInUse(port: number): Promise<boolean> {
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
    if (!(await isPortInUse(port))) continue;
    const advice = `${VARIABLES[name as keyof typeof VARIABLES]}=${port + 1} make run`;
    throw new Error(`port ${port} is in use by another program. Stop that program, or choose another port: ${advice}`);
  }
}

async function comeUp(what: string, starting: Promise<ChildProgram>): Promise<void> {
  const ready = starting.then((program) =>
    program.ready(
      () =>
        checkHealth(server).then(
          () => true,
          () => false,
        ),
      READY_WITHIN_MS,
    ),
  );
  await waitFor(what, () => `the server answers on ${server.ingress}`, ready);
}

/** Whether everything came true. */
async function killInTheMiddle(victim: ChildProgram): Promise<boolean> {
  const startedAt = performance.now();
  const id = await beginParty(server, party);
  await victim.kill();
  const before = party.stored;
  fact(paint("bold", "the server was killed with SIGKILL and could save nothing"), "✗");

  await delay(DOWNTIME_MS); // The running step ends meanwhile, while no server can store its result.
  const lost = party.ran.slice(before.length);
  await comeUp("starting the server again, on the same data", startServer());
  await waitFor("the invocation continues", (value) => `answer: ${JSON.stringify(value)}`, attach(server, id));
  return showOutcome({ before, lost, after: party.ran.slice(before.length + lost.length) }, performance.now() - startedAt);
}

function showWhatNext(): void {
  heading("Both stay up. Try:");
  const json = "-H 'content-type: application/json' -d";
  line(`  curl ${server.ingress}/Greeter/greet ${json} '"Grace"'`);
  line(`  curl ${server.ingress}/Counter/demo/add ${json} 5`);
  line(`  curl ${server.admin}/deployments`);
  line(`  ${server.admin}/ui/   the console, in a browser: there one crashes the party oneself`);
  line();
  line(
    `  ingress ${server.ingress}   admin ${server.admin}   data ${resolve(root, process.env["PERDURE_BASE_DIR"] ?? "perdure-data")}`,
  );
  line(paint("gray", "  Ctrl-C stops everything; the data stays."));
}

async function runScenario(): Promise<boolean> {
  await checkPorts();
  heading("Perdure: durable execution");
  const first = startServer();
  await comeUp("starting the server", first);
  const greeter = kept(await startGreeter({ root, port: ports.greeter, onLine: (text) => party.recordLine(text) }));
  const uri = `http://localhost:${ports.greeter}`;
  const registration = greeterListens(greeter).then(() => register(server, uri));
  await waitFor("starting the greeter", (names) => `the greeter is registered: ${names.join(", ")}`, registration);
  await callEachKind(server, party.personName);
  const cameTrue = await killInTheMiddle(await first);
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
  const scenario = runScenario();
  const succeeded = await Promise.race([scenario, interrupted]);
  if (succeeded === false) exitCode = 1;
  if (succeeded === true && !once) {
    const outcome = await Promise.race([interrupted, untilOneDies()]);
    if (outcome === "died") {
      // Reported only here: programs that we stop end one before the other, too.
      line(`${paint("red", "✗")} a program ended by itself`);
      exitCode = 1;
    }
  }
} catch (cause) {
  line();
  line(`${paint("red", "✗")} ${cause instanceof Error ? cause.message : String(cause)}`);
  exitCode = 1;
}
line();
line(paint("gray", "stopping …"));
await stopAll();
process.exit(exitCode); // An interrupted demo may still have open requests.

async function untilOneDies(): Promise<"died"> {
  for (;;) {
    await delay(500);
    const alive = programs.filter((program) => program.isRunning);
    if (alive.length < 2) return "died";
  }
}
