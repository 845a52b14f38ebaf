/**
 * The scenario of every demo: one call of each kind, then a slow invocation that is interrupted. The caller decides which process is killed
 * and how it is started again.
 */
import { setTimeout as delay } from "node:timers/promises";
import { attach, call, type ServerAddresses, send } from "#demo/server-api";
import { fact, heading, line, paint, seconds, waitFor } from "#demo/terminal";
import { PARTY_STEPS } from "#services/greeter";

const INTERRUPTED_AFTER_STEPS = 3;
const MIDDLE_OF_STEP_MS = 200;

/** A slow invocation, observed through the lines that the greeter prints. */
export class Party {
  /** Different from the name of any earlier run: an interrupted invocation of that run continues as soon as its greeter is back. */
  readonly personName = `Ada-${Date.now().toString(36).slice(-4)}`;
  /** Steps that ran to their end, each time they did. */
  readonly ran: string[] = [];
  #beganCount = 0;
  readonly #inTheMiddle = Promise.withResolvers<void>();

  /** A line that the greeter wrote. */
  recordLine(text: string): void {
    const [, what, step, forWhom] = /^(began|ran) "(.*)" for (.*)$/.exec(text) ?? [];
    if (step === undefined || forWhom !== this.personName) return;
    if (what === "ran") this.ran.push(step);
    else this.#beganCount++;
    if (this.#beganCount > INTERRUPTED_AFTER_STEPS) this.#inTheMiddle.resolve();
  }

  /** Steps whose results are certainly stored: a step begins when the server has confirmed the one before. The last one may be stored too. */
  get stored(): readonly string[] {
    return this.ran.slice(0, Math.max(0, this.#beganCount - 1));
  }

  untilInTheMiddle(): Promise<void> {
    return this.#inTheMiddle.promise;
  }
}

/** `value` as JSON behind what was called, in columns. */
export function result(what: string, value: unknown, note = ""): void {
  fact(`${what.padEnd(34)} ${JSON.stringify(value)}${paint("gray", note)}`);
}

export async function callEachKind(server: ServerAddresses, personName: string): Promise<void> {
  heading("One call of each kind");
  result("Greeter/greet, a service", await call(server, "Greeter/greet", "Ada"));
  const count = await call(server, "Counter/demo/add", 1);
  result("Counter/demo/add, a virtual object", count, count === 1 ? "" : "  it includes earlier runs");

  const key = personName.toLowerCase();
  const id = await send(server, `Signup/${key}/run`, "ada@example.com");
  result("Signup/…/status, a workflow", await untilWaiting(server, key));
  await call(server, `Signup/${key}/confirm`, "Grace");
  result("Signup/…/confirm lets it end", await attach(server, id));
}

/** The workflow was only sent: it reaches its wait a little later. */
async function untilWaiting(server: ServerAddresses, key: string): Promise<unknown> {
  for (;;) {
    const status = await call(server, `Signup/${key}/status`);
    if (status !== "unknown") return status;
    await delay(20);
  }
}

/** Resolves with its id in the middle of a step: the moment for an accident. */
export async function beginParty(server: ServerAddresses, party: Party): Promise<string> {
  heading(`A slow invocation: Greeter/party has ${PARTY_STEPS.length} steps`);
  const id = await send(server, "Greeter/party", party.personName, party.personName);
  await waitFor(
    `the first ${INTERRUPTED_AFTER_STEPS} steps`,
    () => `${INTERRUPTED_AFTER_STEPS} steps are done, the next has begun`,
    party.untilInTheMiddle(),
  );
  await delay(MIDDLE_OF_STEP_MS);
  return id;
}

/** Steps by when they ran. */
interface StepTimeline {
  /** Steps whose results were stored before the crash. */
  readonly before: readonly string[];
  /** Steps that completed about when the server was killed or later, so that their results need not be stored. */
  readonly lost: readonly string[];
  readonly after: readonly string[];
}

/** Shows which steps ran when, and whether the demo succeeded: all ran, and none that was stored ran again. */
export function showOutcome({ before, lost, after }: StepTimeline, tookMs: number): boolean {
  line();
  line(`    ${paint("bold", "step".padEnd(20))} ${paint("bold", "before the crash".padEnd(22))} ${paint("bold", "after")}`);
  for (const step of PARTY_STEPS) {
    const hasRunAgain = after.includes(step);
    const first = lost.includes(step) && hasRunAgain ? "ran, but not stored" : [...before, ...lost].includes(step) ? "ran" : "";
    const second = hasRunAgain ? "ran" : paint("gray", "not repeated: its result was stored");
    line(`    ${step.padEnd(20)} ${first.padEnd(22)} ${second}`);
  }
  line();
  const repeated = before.filter((step) => after.includes(step));
  const missing = PARTY_STEPS.filter((step) => ![...before, ...lost, ...after].includes(step));
  if (repeated.length > 0 || missing.length > 0) {
    fact(`repeated although stored: ${repeated.join(", ") || "none"}; never ran: ${missing.join(", ") || "none"}`, "✗");
    return false;
  }
  const stored = [...before, ...lost].filter((step) => !after.includes(step));
  fact(`${stored.length} finished steps were not repeated; all in all it took ${seconds(tookMs)}, crash included`);
  return true;
}
