/**
 * What the tutorials promise, played with the services of any language: the commands are those of the pages, and effects are the lines
 * that the services append to a file.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { TestAdminClient } from "../admin-client.js";
import { curl } from "../curl.js";
import { eventually } from "../eventually.js";
import type { HttpAnswer } from "../http.js";
import { TUTORIAL_STEP_MS } from "../limits.js";

/** Commands of the pages, in the order of the pages. */
export const TUTORIAL_COMMANDS = {
  register: `curl localhost:9070/deployments --json '{"uri": "http://localhost:9080"}'`,
  greet: `curl localhost:8080/Greeter/greet --json '"Ada"'`,
  order: `curl localhost:8080/Order/order-1/run/send --json '{"item": "lamp", "amount": 49, "remindAfterSeconds": 5}'`,
  status: "curl localhost:8080/Order/order-1/status",
  approve: "curl localhost:8080/Order/order-1/decide --json 'true'",
  attach: "curl localhost:8080/restate/workflow/Order/order-1/attach",
  secondOrder: `curl localhost:8080/Order/order-2/run/send --json '{"item": "chair", "amount": 120, "remindAfterSeconds": 86400}'`,
  reject: "curl localhost:8080/Order/order-2/decide --json 'false'",
  attachSecond: "curl localhost:8080/restate/workflow/Order/order-2/attach",
} as const;

export interface TutorialStage {
  /** Ports of the test by those of the pages: 8080, 9070, 9080. */
  readonly ports: Readonly<Record<string, string>>;
  readonly effectsFile: string;
  /** Kills the service with SIGKILL, and starts it again. */
  readonly crashService: () => Promise<void>;
  /** The same with the server. */
  readonly crashServer: () => Promise<void>;
}

export interface TutorialScenario {
  readonly title: string;
  readonly play: (stage: TutorialStage) => Promise<void>;
}

/** Played in order: the first one registers the services. */
export const TUTORIAL_SCENARIOS: readonly TutorialScenario[] = [
  { title: "tutorial: the first service continues after kill -9, and repeats no step", play: greets },
  { title: "tutorial: an order is charged, reminded and shipped once, although it is killed", play: ships },
  { title: "tutorial: an order that is not approved is refunded", play: refunds },
];

async function run(stage: TutorialStage, name: keyof typeof TUTORIAL_COMMANDS): Promise<HttpAnswer> {
  const answer = await curl(TUTORIAL_COMMANDS[name], stage.ports);
  assert.ok(answer.status < 300, `${TUTORIAL_COMMANDS[name]}: ${answer.status} ${answer.text}`);
  return answer;
}

function effects({ effectsFile }: TutorialStage): readonly string[] {
  return existsSync(effectsFile) ? readFileSync(effectsFile, "utf8").trimEnd().split("\n") : [];
}

function effectHappens(stage: TutorialStage, line: string): Promise<boolean> {
  return eventually(`'${line}' happens`, () => effects(stage).includes(line), TUTORIAL_STEP_MS);
}

function assertEffects(stage: TutorialStage, of: string, expected: readonly string[]): void {
  assert.deepEqual(
    effects(stage).filter((line) => line.includes(of)),
    expected,
  );
}

/** A step whose result is not stored yet runs again after a crash; the pages kill later, and so must the scenarios. */
async function isSleeping({ ports }: TutorialStage): Promise<boolean> {
  using admin = new TestAdminClient(`http://127.0.0.1:${ports["9070"]}`);
  const rows = await admin.query("SELECT id FROM sys_journal WHERE entry_type LIKE '%Sleep%'");
  return rows.length > 0;
}

async function greets(stage: TutorialStage): Promise<void> {
  await eventually("the services can be registered", () => run(stage, "register"), TUTORIAL_STEP_MS);
  const answer = run(stage, "greet");
  await effectHappens(stage, "write the card for Ada");
  await eventually("the step is stored, and the handler sleeps", () => isSleeping(stage), TUTORIAL_STEP_MS);
  await stage.crashService();
  assert.equal((await answer).json, "Hello Ada!");
  assertEffects(stage, "Ada", ["write the card for Ada", "send the card to Ada"]);
}

async function ships(stage: TutorialStage): Promise<void> {
  await run(stage, "order");
  await effectHappens(stage, "charge order-1 49");
  const isWaiting = async () => (await run(stage, "status")).json === "waiting for approval";
  await eventually("the charge is stored", isWaiting, TUTORIAL_STEP_MS);
  await stage.crashService();
  await stage.crashServer();
  await effectHappens(stage, "remind order-1");
  await run(stage, "approve");
  assert.equal((await run(stage, "attach")).json, "order-1: shipped");
  assertEffects(stage, "order-1", ["charge order-1 49", "remind order-1", "ship order-1 lamp"]);
}

async function refunds(stage: TutorialStage): Promise<void> {
  await run(stage, "secondOrder");
  await effectHappens(stage, "charge order-2 120");
  await run(stage, "reject");
  assert.equal((await run(stage, "attachSecond")).json, "order-2: refunded");
  assertEffects(stage, "order-2", ["charge order-2 120", "refund order-2 120"]);
}
