/**
 * Why: one sentence that somebody who is woken at night understands: what the invocation waits for, since when, and what would move
 * it. It is made from the same values as the JSON, so the two never disagree.
 */
import { formatDuration, type InvocationId, unreachable, type VqueueIdentity, vqueueId } from "@perdure/base";
import { type AttemptError, targetText } from "@perdure/partition";
import { type AwaitLeaf, type AwaitNode, leavesOf } from "./awaiting.js";
import type { Explanation, Link } from "./explain.js";
import type { FlowFacts, LockFacts } from "./facts.js";
import { NAMED_IN_SENTENCE_MAX, QUOTED_CHARS_MAX } from "./limits.js";
import type { Step } from "./steps.js";
import type { Situation, Wait } from "./wait.js";

/** What an operator can do, and what that does. */
export interface Remedy {
  /** Method and path, `{id}` filled in. */
  readonly request: string;
  readonly effect: string;
}

/** The sentence of the whole explanation: the invocation's own wait, and where the chain behind it ends. */
export function sentenceOf({ situation, chain, deadlock }: Explanation, nowMs: number): string {
  const own = ownSentence(situation, nowMs);
  if (deadlock !== undefined) return `${own} ${deadlockSentence(deadlock.ids, deadlock.isCertain)}`;
  const last = chain.at(-1);
  if (chain.length < 2 || last === undefined) return own;
  return `${own} ${endSentence(last, nowMs)}`;
}

function deadlockSentence(ids: readonly InvocationId[], isCertain: boolean): string {
  const circle = ids.length === 1 ? `${ids[0]} waits for itself` : `${ids.join(" waits for ")} waits for ${ids[0]}`;
  const verdict = isCertain ? "This is a deadlock" : "This looks like a deadlock";
  return `${verdict}: ${circle}; none of them moves until one is cancelled or killed.`;
}

function endSentence({ id, situation }: Link, nowMs: number): string {
  if (situation === undefined) return `In the end it is ${id}, of which nothing is stored (any more).`;
  return `In the end it is ${id} (${targetText(situation.invocation.facts.target)}): ${lowerFirst(ownSentence(situation, nowMs))}`;
}

/** What one invocation waits for, without the chain. */
export function ownSentence(situation: Situation, nowMs: number): string {
  const { wait, sinceMs, invocation, route } = situation;
  const since = `for ${lasting(nowMs - sinceMs)}`;
  switch (wait.kind) {
    case "completed":
      return completedSentence(wait, sinceMs);
    case "delayedStart":
      return `It was submitted with a delay and starts at ${moment(wait.startsAtMs)} (${distance(wait.startsAtMs, nowMs)}).`;
    case "objectLock":
      return lockSentence(wait, since);
    case "limit":
      return limitSentence(wait.flow, since, nowMs);
    case "invokerSlot":
      return `It is ready to run and has waited ${since} for its invoker, which runs as many attempts as it may at one time, or as its endpoint takes; it starts when another attempt ends.`;
    case "running":
      return runningSentence(wait, since, nowMs);
    case "retry":
      return retrySentence(wait, route, nowMs);
    case "awaiting":
      return `It has been suspended ${since} and waits for ${awaitedText(wait.awaiting, nowMs)}.`;
    case "paused": {
      const why =
        wait.failure === undefined
          ? "because somebody asked for it"
          : `after a failed attempt (${failureText(wait.failure)}); its retry policy or somebody pauses it then`;
      const gone =
        route.kind === "found"
          ? ""
          : ` Before that, ${lowerFirst(routeProblem(route.kind, route.deploymentId, invocation.facts.target.service, invocation.facts.target.handler))}`;
      return `It has been paused ${since} ${why}; it goes on when somebody resumes it.${gone}`;
    }
    default:
      return unreachable(wait);
  }
}

function completedSentence(wait: Wait & { kind: "completed" }, atMs: number): string {
  const { outcome } = wait;
  if (outcome.kind === "success") return `It completed at ${moment(atMs)}; it waits for nothing.`;
  return `It failed at ${moment(atMs)} with [${outcome.failure.code}] ${quoted(outcome.failure.message)}; it waits for nothing.`;
}

function lockSentence({ service, key, lock }: Wait & { kind: "objectLock" }, since: string): string {
  const object = `the object ${service}/${key}`;
  const held = lock.holder === undefined ? "" : `, which ${lock.holder} holds`;
  if (lock.isPaused) {
    return `It has waited ${since} for ${object}${held}, and somebody has paused the object's queue; ${placeText(lock)}, and nobody starts until the queue is resumed.`;
  }
  return `It has waited ${since} for ${object}${held}; ${placeText(lock)}, and starts when those before it are done.`;
}

function placeText({ ahead, aheadIsLeast }: LockFacts): string {
  if (ahead === 0 && !aheadIsLeast) return "it is next in line";
  return `${aheadIsLeast ? "at least " : ""}${ahead} ${ahead === 1 ? "other stands" : "others stand"} before it`;
}

function limitSentence(flow: FlowFacts, since: string, nowMs: number): string {
  const name = flow.limitKey === undefined ? flow.scope : `${flow.scope}/${flow.limitKey}`;
  if (flow.isQueuePaused)
    return `It has waited ${since} in the queue of '${name}', which somebody has paused; it starts when the queue is resumed.`;
  const full = flow.levels.find(({ isFull }) => isFull);
  const place = flow.place === undefined ? "" : `, at place ${flow.place} of its queue`;
  if (full === undefined) return `It has waited ${since} for a slot in '${name}'${place}.`;
  if (full.nextAtMs !== undefined) {
    return `It has waited ${since} for the rate of '${full.name}' (rule '${full.rule}')${place}; the next one may start at ${moment(full.nextAtMs)} (${distance(full.nextAtMs, nowMs)}).`;
  }
  return `It has waited ${since} for a slot of '${full.name}', where ${full.used} of ${full.limit ?? "?"} run (rule '${full.rule}') and ${full.waiting} wait${place}; it starts when one of them ends, suspends or is paused, or the rule allows more. A handler that waits keeps its slot until it suspends.`;
}

function runningSentence(wait: Wait & { kind: "running" }, since: string, nowMs: number): string {
  const where = wait.deploymentId === undefined ? "" : ` on ${wait.deploymentId}`;
  const attempt = wait.attempt > 1 ? ` in attempt ${wait.attempt}` : "";
  const pause = wait.pauseRequested ? "; a pause was asked for and takes effect when this attempt stops" : "";
  return `It has been running${where}${attempt} ${since}${doing(wait, nowMs)}${pause}.`;
}

function doing({ awaiting, open, lastStep, endpointAnswer }: Wait & { kind: "running" }, nowMs: number): string {
  // Said first: what the journal shows is of an earlier attempt then.
  if (endpointAnswer === "nothing") return "; its endpoint has not sent response headers yet";
  if (endpointAnswer === "headers") return "; its endpoint has sent response headers, and the SDK no message yet";
  if (awaiting !== undefined) return ` and waits for ${awaitedText(awaiting, nowMs)}`;
  if (open.length > 0) return `; without an answer so far: ${listed(open, nowMs, "and")}`;
  return lastStep === undefined ? "" : `; its last step is ${stepText(lastStep)}`;
}

function stepText({ type, name, subject, index }: Step): string {
  const label = name === "" ? subject : name;
  return `${type}${label === "" ? "" : ` '${label}'`} (journal entry ${index})`;
}

function retrySentence(wait: Wait & { kind: "retry" }, route: Situation["route"], nowMs: number): string {
  const why = wait.failure === undefined ? "" : ` with ${failureText(wait.failure)}`;
  const when =
    wait.nextAtMs === undefined
      ? "the next one starts as soon as the last one has wound up and a slot is free"
      : `the next one starts at ${moment(wait.nextAtMs)} (${distance(wait.nextAtMs, nowMs)})`;
  const left =
    wait.attemptsLeft === undefined
      ? "without end"
      : `${wait.attemptsLeft} more, then ${wait.onExhausted === "kill" ? "it fails" : "it pauses"}`;
  const problem = problemOf(route, wait.failure);
  return `Its attempt ${wait.attempts} failed${why}; ${when} (${left}).${problem}`;
}

/** What the registry knows about why attempts fail. */
function problemOf(route: Situation["route"], failure: AttemptError | undefined): string {
  if (route.kind === "gone")
    return ` Its deployment ${route.deploymentId} was removed: no attempt will succeed until it is moved to another one.`;
  if (route.kind === "noService") return " No deployment serves it: no attempt will succeed until one is registered.";
  if (route.kind === "handlerRemoved") return ` Deployment ${route.deploymentId} does not list its handler any more.`;
  if (failure?.code === UNSUPPORTED_FEATURE && failure.message.includes("protocol version")) {
    return " Its SDK needs a newer service protocol for this: raise worker.invoker.max-protocol-version (to 7).";
  }
  return failure?.errorCode === "RT0010" ? " Its endpoint does not answer." : "";
}

/** Code of SDKs for what the negotiated protocol version cannot do (service-protocol §6.3). */
const UNSUPPORTED_FEATURE = 573;

function routeProblem(
  kind: Situation["route"]["kind"],
  deployment: string | undefined,
  service: string,
  handler: string,
): string {
  if (kind === "gone") return `Its deployment ${deployment} was removed, so it must be moved to another one.`;
  if (kind === "noService") return `A deployment that serves ${service} must be registered.`;
  return `Deployment ${deployment} must serve ${service}/${handler} again.`;
}

// ── awaited things ───────────────────────────────────────────────────────────────────────────────

function awaitedText(awaiting: AwaitNode, nowMs: number): string {
  const leaves = leavesOf(awaiting);
  if (leaves.length === 0) return "being cancelled, and nothing else";
  if (leaves.length === 1) return leafText(leaves[0] as AwaitLeaf, nowMs);
  const isFlat = awaiting.children.every(({ kind }) => kind !== "node");
  const outer = soleNode(awaiting);
  const wants = isFlat ? awaiting.wants : outer?.wants;
  switch (wants) {
    case "any":
      return `the first of ${listed(leaves, nowMs, "or")}`;
    case "all":
      return `all of ${listed(leaves, nowMs, "and")}`;
    case "allSuccess":
      return `all of ${listed(leaves, nowMs, "and")} (or the first to fail)`;
    case "firstSuccess":
      return `the first success of ${listed(leaves, nowMs, "or")}`;
    default:
      return `a combination of ${listed(leaves, nowMs, "and")}`;
  }
}

/** SDKs wrap what the handler awaits into "that, or being cancelled"; the inner node is what people wrote. */
function soleNode(node: AwaitNode): AwaitNode | undefined {
  const others = node.children.filter(({ kind }) => kind !== "cancellation");
  const only = others[0];
  if (others.length !== 1 || only?.kind !== "node") return undefined;
  return only.children.every(({ kind }) => kind !== "node") ? only : soleNode(only);
}

function listed(leaves: readonly AwaitLeaf[], nowMs: number, word: "and" | "or"): string {
  const named = leaves.slice(0, NAMED_IN_SENTENCE_MAX).map((leaf) => leafText(leaf, nowMs));
  const rest = leaves.length - named.length;
  if (rest > 0) return `${named.join(", ")} ${word} ${rest} more`;
  return named.length === 1 ? (named[0] ?? "") : `${named.slice(0, -1).join(", ")} ${word} ${named.at(-1)}`;
}

export function leafText(leaf: AwaitLeaf, nowMs: number): string {
  switch (leaf.kind) {
    case "timer":
      return `${leaf.name === "" ? "a timer" : `the timer '${leaf.name}'`} that fires at ${moment(leaf.firesAtMs)} (${distance(leaf.firesAtMs, nowMs)})`;
    case "call":
      return `its call to ${leaf.target}${leaf.id === undefined ? "" : ` (${leaf.id})`}`;
    case "attach":
      return `the result of ${leaf.target}${leaf.id === undefined || leaf.id === leaf.target ? "" : ` (${leaf.id})`}`;
    case "promise":
      return `the workflow promise '${leaf.name}', which a handler of this workflow must complete`;
    case "run":
      return leaf.name === "" ? "a step of its own code" : `its own step '${leaf.name}'`;
    case "answer":
      return `the answer to its ${leaf.type}, which is on its way`;
    case "awakeable":
      return `the awakeable ${leaf.id}, which somebody outside must complete`;
    case "signal":
      return `the signal '${leaf.name}', which somebody must send`;
    case "cancellation":
      return "being cancelled";
    case "unknown":
      return `completion ${leaf.completionId}`;
    default:
      return unreachable(leaf);
  }
}

// ── what would move it ───────────────────────────────────────────────────────────────────────────

/** What people can do about it, the gentlest first; empty when only time or others help. */
export function remediesOf({ situation, deadlock }: Explanation): readonly Remedy[] {
  const { id, wait, route } = situation;
  const patch = (verb: string, effect: string): Remedy => ({ request: `PATCH /invocations/${id}/${verb}`, effect });
  const remedies: Remedy[] = [];
  switch (wait.kind) {
    case "retry":
      if (route.kind === "gone" || route.kind === "handlerRemoved") {
        remedies.push(
          patch("pause", "stops the attempts, so that it can be moved"),
          patch("resume?deployment=latest", "once paused: goes on with the latest deployment"),
        );
      } else if (route.kind === "noService")
        remedies.push({ request: "POST /deployments", effect: "registers a deployment that serves it" });
      else remedies.push(patch("resume", "tries again at once, with all its attempts"));
      break;
    case "paused":
      if (route.kind === "gone" || route.kind === "handlerRemoved")
        remedies.push(patch("resume?deployment=latest", "goes on with the latest deployment"));
      else remedies.push(patch("resume", "goes on where it stopped"));
      break;
    case "limit":
      remedies.push(
        wait.flow.isQueuePaused
          ? queueResumption({ service: situation.invocation.facts.target.service, ...placeOf(wait.flow), lockKey: undefined })
          : { request: "PUT /limits/rules", effect: "a rule that allows more lets it start sooner" },
      );
      break;
    case "objectLock":
      if (wait.lock.isPaused) {
        remedies.push(queueResumption({ service: wait.service, scope: undefined, limitKey: undefined, lockKey: wait.key }));
      }
      break;
    case "awaiting":
      remedies.push(...awaitRemedies(wait.awaiting));
      break;
    default:
      break;
  }
  if (deadlock !== undefined) {
    const victim = deadlock.ids.at(-1) ?? id;
    remedies.unshift({
      request: `PATCH /invocations/${victim}/cancel`,
      effect: "asks one of those that wait for each other to give up",
    });
  }
  if (wait.kind !== "completed") remedies.push(patch("cancel", "asks it to stop"), patch("kill", "ends it without asking"));
  return remedies;
}

function queueResumption(queue: VqueueIdentity): Remedy {
  return { request: `POST /vqueues/${vqueueId(queue)}/resume`, effect: "lets the queue start its invocations again" };
}

function placeOf({ scope, limitKey }: FlowFacts): { readonly scope: string; readonly limitKey: string | undefined } {
  return { scope, limitKey };
}

function awaitRemedies(awaiting: AwaitNode): Remedy[] {
  const remedies: Remedy[] = [];
  for (const leaf of leavesOf(awaiting)) {
    if (leaf.kind === "awakeable" && remedies.length < NAMED_IN_SENTENCE_MAX) {
      remedies.push({ request: `POST /restate/awakeables/${leaf.id}/resolve (ingress)`, effect: "completes the awakeable" });
    }
  }
  return remedies;
}

// ── words ────────────────────────────────────────────────────────────────────────────────────────

function failureText({ errorCode, code, message }: AttemptError): string {
  return `${errorCode} [${code}] ${quoted(message)}`;
}

function quoted(message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  return `"${line.length > QUOTED_CHARS_MAX ? `${line.slice(0, QUOTED_CHARS_MAX)}…` : line}"`;
}

/** Whole seconds are enough for people, unless it is less than one. */
function lasting(ms: number): string {
  const whole = Math.max(0, ms);
  return formatDuration(whole < 1000 ? whole : Math.floor(whole / 1000) * 1000);
}

function distance(atMs: number, nowMs: number): string {
  if (atMs > nowMs) return `in ${lasting(atMs - nowMs)}`;
  return atMs === nowMs ? "now" : `${lasting(nowMs - atMs)} ago`;
}

/** A time that a clock of another machine or a user wrote may be beyond what a date can hold. */
function moment(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "the end of time" : date.toISOString();
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
