/** The same short scenarios for every SDK. They show that SDK and server agree on the protocol, not that every feature works. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { invocationIdOf } from "../ingress-client.js";
import { CROWD, LARGE_CHARS, SOON_MS } from "./limits.js";
import { replaysBundles } from "./replay-scenario.js";
import { assertFailed, type SdkStage } from "./stage.js";

export interface SdkScenario {
  readonly title: string;
  /** A service of the endpoint; the scenario is skipped for SDKs that lack it. */
  readonly needs?: string;
  /** Rejects when the scenario fails. */
  readonly play: (stage: SdkStage) => Promise<void>;
}

/** All may run at the same time: they share no state. */
export const SCENARIOS: readonly SdkScenario[] = [
  { title: "a greeter takes its steps, in the wanted protocol version", play: greets },
  { title: "a repeated idempotency key gives the first result", play: answersTwice },
  { title: "an object keeps, lists and clears its state", play: keepsState },
  { title: "a workflow sleeps, waits for its promise, and can be attached to", play: signsUp },
  { title: "services call and send, in order", play: callsAndSends },
  { title: "an awakeable is resolved and rejected over HTTP", play: getsMessages },
  { title: "whichever comes first of an awakeable and a timer", play: waitsAtMost },
  { title: "a named signal from one invocation to another", needs: "Flag", play: raisesFlags },
  { title: "a terminal error becomes an HTTP status", play: failsForGood },
  { title: "a failing handler is retried until it succeeds", play: triesAgain },
  { title: "a failing step is retried until its retry policy ends", play: stepsTryAgain },
  { title: "a bundle of a failing invocation is replayed to its error", play: replaysBundles },
  { title: "a cancelled handler can clean up", play: cleansUp },
  { title: "cancellation reaches the invocations that one waits for", play: cancelsDown },
];

async function greets(stage: SdkStage): Promise<void> {
  const answer = await stage.ingress.call(["Greeter", "greet"], "Ada");
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json, "Hello Ada!");
  assert.match(String(answer.headers["content-type"]), /^application\/json/);
  const row = await stage.soonShows(invocationIdOf(answer), "is completed", ({ status }) => status === "completed");
  assert.equal(row["pinned_service_protocol_version"], stage.protocol);
}

async function answersTwice(stage: SdkStage): Promise<void> {
  const walk = { id: stage.key(), count: 1, pauseMs: 0 };
  const idempotencyKey = stage.key();
  const [first, second] = await Promise.all([
    stage.ingress.call(["Steps", "walk"], walk, { idempotencyKey }),
    stage.ingress.call(["Steps", "walk"], walk, { idempotencyKey }),
  ]);
  assert.deepEqual(first.json, [1]);
  assert.deepEqual(second.json, [1]);
  assert.equal(invocationIdOf(first), invocationIdOf(second));
}

async function keepsState(stage: SdkStage): Promise<void> {
  const key = stage.key();
  await stage.gives(0, ["Counter", key, "get"]);
  await stage.gives(3, ["Counter", key, "add"], 3);
  await stage.gives(7, ["Counter", key, "add"], 4);
  await stage.ingress.result(["Counter", key, "label"], "Zähler");
  await stage.gives(7, ["Counter", key, "get"]);
  const names = await stage.ingress.result<string[]>(["Counter", key, "keys"]);
  assert.deepEqual(names.sort(), ["count", "label"]); // The Java SDK gives them in any order.
  await stage.ingress.result(["Counter", key, "reset"]);
  await stage.gives(0, ["Counter", key, "get"]);
  await stage.gives(["label"], ["Counter", key, "keys"]);
  await stage.ingress.result(["Counter", key, "wipe"]);
  await stage.gives([], ["Counter", key, "keys"]);
}

async function signsUp(stage: SdkStage): Promise<void> {
  const key = stage.key();
  const id = await stage.send(["Signup", key, "run"], 150);
  await stage.soonGives("waiting", ["Signup", key, "phase"]);
  const joined = stage.ingress.result(["Caller", "join"], id);
  await stage.ingress.result(["Signup", key, "approve"], "Grace");
  await stage.ends(id, "approved by Grace");
  assert.equal(await joined, "approved by Grace");
  await stage.gives("done", ["Signup", key, "phase"]);
  const again = await stage.ingress.call(["Signup", key, "run"], 0);
  assert.equal(again.status, 409, again.text);
}

async function callsAndSends(stage: SdkStage): Promise<void> {
  await stage.gives("Hello Alan!", ["Caller", "greet"], "Alan");
  // Calls from one invocation to one object arrive in order: the call comes after all ten sends.
  await stage.gives(55, ["Caller", "tally"], { key: stage.key(), numbers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] });
}

async function getsMessages(stage: SdkStage): Promise<void> {
  const key = stage.key();
  const waiting = await stage.send(["Mailbox", key, "receive"], 600_000);
  // A shared handler answers although the exclusive one holds the object.
  const address = await stage.soonSays(["Mailbox", key, "address"]);
  assert.equal((await stage.ingress.resolveAwakeable(address, "dear Ada")).status, 202);
  await stage.ends(waiting, "dear Ada");
  await stage.gives("", ["Mailbox", key, "address"]);

  const hopeless = await stage.send(["Mailbox", key, "receive"], 600_000);
  const next = await stage.soonSays(["Mailbox", key, "address"]);
  assert.notEqual(next, address);
  assert.equal((await stage.ingress.rejectAwakeable(next, "no such person")).status, 202);
  assertFailed(await stage.ingress.attach(hopeless, SOON_MS), 500, "no such person");
}

async function waitsAtMost(stage: SdkStage): Promise<void> {
  await stage.gives("no message", ["Mailbox", stage.key(), "receive"], 100);
}

async function raisesFlags(stage: SdkStage): Promise<void> {
  const id = await stage.send(["Flag", "wait"]);
  await stage.ingress.result(["Flag", "raise"], { id, value: "green" });
  await stage.ends(id, "green");
}

async function failsForGood(stage: SdkStage): Promise<void> {
  const teapot = await stage.ingress.call(["Failing", "terminal"], { code: 418, message: "I am a teapot" });
  assertFailed(teapot, 418, "I am a teapot");
  assert.equal(teapot.headers["x-restate-error-source"], "invocation");
  const id = await stage.send(["Failing", "terminal"], { code: 500, message: "for good" });
  assertFailed(await stage.ingress.attach(id, SOON_MS), 500, "for good");
}

async function triesAgain(stage: SdkStage): Promise<void> {
  await stage.gives(4, ["Failing", "flaky"], { id: stage.key(), failures: 3 });
}

async function stepsTryAgain(stage: SdkStage): Promise<void> {
  await stage.gives(4, ["Failing", "flakyStep"], { id: stage.key(), failures: 3 });
  await stage.gives("gave up", ["Failing", "givesUp"], stage.key());
}

async function cleansUp(stage: SdkStage): Promise<void> {
  const key = stage.key();
  const id = await stage.send(["Napper", key, "nap"], 600_000);
  await stage.soonGives("napping", ["Napper", key, "phase"]);
  const answer = await stage.admin.invocation(id, "cancel");
  assert.equal(answer.status, 202, answer.text);
  assertFailed(await stage.ingress.attach(id, SOON_MS), 409, "");
  await stage.gives("woken with 409", ["Napper", key, "phase"]);
}

async function cancelsDown(stage: SdkStage): Promise<void> {
  const key = stage.key();
  const id = await stage.send(["Caller", "nap"], { key, ms: 600_000 });
  await stage.soonGives("napping", ["Napper", key, "phase"]);
  await stage.ingress.result(["Caller", "cancel"], id);
  assertFailed(await stage.ingress.attach(id, SOON_MS), 409, "");
  // The SDK forwards the cancellation and does not wait for the callee.
  await stage.soonGives("woken with 409", ["Napper", key, "phase"]);
}

/** Run one after the other, after all others: they need a machine without other load, load it, or stop the server or the endpoint. */
export const SOLOS: readonly SdkScenario[] = [
  { title: "a delayed send comes later", play: comesLater },
  { title: "a large payload goes through call, step and answer", play: carriesMuch },
  { title: "more invocations at one time than a connection takes", play: crowds },
  { title: "kill -9 of the server in the middle of sleeps, steps and waits", play: survivesServerCrash },
  { title: "kill -9 of the endpoint in the middle of a sleep and a wait", play: survivesEndpointCrash },
];

async function comesLater(stage: SdkStage): Promise<void> {
  const key = stage.key();
  const delayMs = 2_000;
  const sentAt = performance.now();
  const id = await stage.ingress.result<string>(["Caller", "later"], { key, n: 5, delayMs });
  const row = await stage.admin.row(id);
  assert.equal(row?.["target"], `Counter/${key}/add`);
  assert.equal(row?.["status"], "scheduled", "it came too early, or this machine is too slow to measure it");
  await stage.ends(id, 5);
  assert.ok(performance.now() - sentAt > delayMs - 50, "it came too early");
  await stage.gives(5, ["Counter", key, "get"]);
}

async function carriesMuch(stage: SdkStage): Promise<void> {
  const name = "x".repeat(LARGE_CHARS);
  const greeting = await stage.ingress.result<string>(["Caller", "greet"], name, { withinMs: SOON_MS });
  assert.ok(greeting === `Hello ${name}!`, `${greeting.length} characters came back`);
}

async function crowds(stage: SdkStage): Promise<void> {
  const naps = Array.from({ length: CROWD }, () => stage.ingress.result(["Steps", "nap"], 500, { withinMs: SOON_MS }));
  assert.deepEqual(new Set(await Promise.all(naps)), new Set(["rested"]));
}

const DOWNTIME_MS = 300;

async function survivesServerCrash(stage: SdkStage): Promise<void> {
  const [keptKey, mailKey, walkId] = [stage.key(), stage.key(), stage.key()];
  await stage.gives(5, ["Counter", keptKey, "add"], 5);
  const startedAt = performance.now();
  const nap = await stage.send(["Steps", "nap"], 1_500);
  const walk = await stage.send(["Steps", "walk"], { id: walkId, count: 10, pauseMs: 100 });
  const wait = await stage.send(["Mailbox", mailKey, "receive"], 600_000);
  const address = await stage.soonSays(["Mailbox", mailKey, "address"]);
  await stage.soonShows(walk, "has taken some steps", (row) => Number(row["journal_commands_size"] ?? row["journal_size"]) >= 6);

  await stage.server.kill();
  await delay(DOWNTIME_MS);
  await stage.server.startAgain();

  assert.equal((await stage.ingress.resolveAwakeable(address, "after all")).status, 202);
  await stage.ends(wait, "after all");
  const runs = await stage.ingress.outcome<number[]>(walk, SOON_MS);
  assert.equal(runs.length, 10);
  // Every step has its own run, and no completed one was run again after the crash; only the one in flight may have been repeated.
  assert.ok(
    runs.every((run, i) => (i === 0 ? run === 1 : run > (runs[i - 1] ?? 0))),
    `steps ran as ${runs.join(", ")}`,
  );
  assert.ok((runs.at(-1) ?? 0) <= 11, `steps ran as ${runs.join(", ")}`);
  await stage.ends(nap, "rested");
  assert.ok(performance.now() - startedAt >= 1_490, "the sleep was cut short");
  await stage.gives(5, ["Counter", keptKey, "get"]);
}

async function survivesEndpointCrash(stage: SdkStage): Promise<void> {
  const mailKey = stage.key();
  const nap = await stage.send(["Steps", "nap"], 800);
  const wait = await stage.send(["Mailbox", mailKey, "receive"], 600_000);
  const address = await stage.soonSays(["Mailbox", mailKey, "address"]);

  await stage.endpoint.crashAndComeBack();

  await stage.ends(nap, "rested");
  assert.equal((await stage.ingress.resolveAwakeable(address, "still here")).status, 202);
  await stage.ends(wait, "still here");
  await stage.gives("Hello Ada!", ["Greeter", "greet"], "Ada");
}
