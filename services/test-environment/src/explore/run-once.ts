/** Runs a scenario once in an environment of its own, and records what happened. */

import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { causeMessage } from "@perdure/base";
import type { HandlerLog } from "../engine/sdk-endpoint.js";
import type { TestEnvironment } from "../environment.js";
import { STUCK_CHECK_MS } from "../limits.js";
import { PointNames } from "./points.js";

export type StartEnvironment = (log: HandlerLog) => Promise<TestEnvironment>;
export type Scenario = (environment: TestEnvironment) => unknown;

export interface RunRecord {
  /** `returned …`, `threw …`, or why it did not end. */
  readonly outcome: string;
  /** Points in the order in which they were reached. */
  readonly points: readonly string[];
  readonly isCrashed: boolean;
  /** How often each step has executed. */
  readonly executions: ReadonlyMap<string, number>;
  readonly unfinished: readonly string[];
  readonly mismatch: { readonly message: string; readonly at: string | undefined } | undefined;
}

/** `crashAt`: the point at which a crash happens; undefined: none. */
export async function runOnce(
  start: StartEnvironment,
  scenario: Scenario,
  { crashAt, runMsMax }: { readonly crashAt: string | undefined; readonly runMsMax: number },
): Promise<RunRecord> {
  const lines: string[] = [];
  await using environment = await start(({ parts }) => void lines.push(parts.map(textOf).join(" ")));
  const names = new PointNames();
  const points: string[] = [];
  const executions = new Map<string, number>();
  let isCrashed = false;
  environment.faults.onPoint = (point) => {
    if (point.isRun && point.side === "before-ack") {
      const step = `${names.invocationOf(point)} ${point.step}`;
      executions.set(step, (executions.get(step) ?? 0) + 1);
    }
    const name = names.nameOf(point);
    points.push(name);
    if (isCrashed || name !== crashAt) return undefined;
    isCrashed = true;
    return { kind: "crash", overlaps: point.side === "during" };
  };
  const outcome = await outcomeOf(environment, scenario, runMsMax);
  const unfinished = (await environment.unfinished()).map(({ target, status }) => `${target} (${status})`);
  return { outcome, points, isCrashed, executions, unfinished, mismatch: mismatchIn(environment.engineLog, lines) };
}

async function outcomeOf(environment: TestEnvironment, scenario: Scenario, runMsMax: number): Promise<string> {
  const ending = new AbortController();
  const scenarioOutcome = Promise.resolve()
    .then(() => scenario(environment))
    .then(
      (value) => `returned ${inspect(value, { depth: 8, breakLength: Number.POSITIVE_INFINITY })}`,
      (error: unknown) => `threw ${causeMessage(error)}`,
    );
  const outcome = await Promise.race([scenarioOutcome, stuck(environment, runMsMax, ending.signal)]);
  ending.abort();
  if (!outcome.startsWith("did not end")) await environment.idle().catch(() => undefined);
  return outcome;
}

/** A paused invocation never completes by itself, so a scenario that waits for it does not end. */
async function stuck(environment: TestEnvironment, runMsMax: number, signal: AbortSignal): Promise<string> {
  const untilMs = performance.now() + runMsMax;
  while (performance.now() < untilMs && !signal.aborted) {
    await delay(STUCK_CHECK_MS, undefined, { ref: false });
    const paused = (await environment.unfinished()).find(({ status }) => status === "paused");
    if (paused !== undefined) return `did not end: ${paused.target} is paused`;
  }
  return `did not end within ${runMsMax / 1000} s`;
}

/** The engine's log has the code, the handlers' log the stack. */
function mismatchIn(engineLines: readonly string[], handlerLines: readonly string[]): RunRecord["mismatch"] {
  const reported = engineLines.find((line) => line.includes("RT0016"));
  if (reported === undefined) return undefined;
  const logged = handlerLines.find((line) => /mismatch/i.test(line)) ?? "";
  return { message: (logged || reported).split("\n", 1)[0] ?? reported, at: lineOfHandler(logged) ?? lineOfHandler(reported) };
}

/** The first frame of a stack that is neither Node's nor of an installed package. */
function lineOfHandler(text: string): string | undefined {
  for (const [, place] of text.matchAll(/at (?:async )?(?:[^\s(]+ )?\(?((?:file:\/\/)?\/[^\s()]+:\d+:\d+)\)?/g)) {
    if (place !== undefined && !place.includes("/node_modules/")) return place;
  }
  return undefined;
}

function textOf(part: unknown): string {
  return typeof part === "string" ? part : inspect(part);
}
