/**
 * Builds one sentence for an operator: what the invocation waits for, since when, and what would end the wait. It is built from the same
 * values as the JSON, so the two never disagree.
 */
import { formatDuration, type InvocationId, present, unreachable, type VqueueIdentity, vqueueId } from "@perdure/base";
import { type AttemptError, targetText } from "@perdure/state-machine";
import { type AwaitLeaf, type AwaitNode, leavesOf } from "./awaiting.js";
import type { ChainLink, Explanation } from "./explain.js";
import type { FlowFacts, LockFacts } from "./facts.js";
import { NAMED_IN_SENTENCE_MAX, QUOTED_CHARS_MAX } from "./limits.js";
import type { JournalStep } from "./steps.js";
import type { Situation, Wait } from "./wait.js";

/** An action of an operator and its effect. */
interface Remedy {
  /** Method and path, with `{id}` replaced. */
  readonly request: string;
  readonly effect: string;
}

/** The sentence of the whole explanation: the invocation's own wait, and the end of the chain behind it. */
export function sentenceOf({ situation, chain, deadlock }: Explanation, nowMs: number): string {
  const own = ownSentence(situation, nowMs);
  if (deadlock !== undefined) return `${own} ${deadlockSentence(deadlock.ids, deadlock.isCertain)}`;
  const last = chain.at(-1);
  if (chain.length < 2 || last === undefined) return own;
  return `${own} ${endSentence(last, nowMs)}`;
}

function deadlockSentence(ids: readonly InvocationId[], isCertain: boolean): string {
  const circle = ids.length === 1 ? `${ids[0]} waits for itself` : `${ids.join(" waits for ")} waits for ${ids[0]}`;
  const certainty = isCertain ? "This is a deadlock" : "This is probably a deadlock";
  return `${certainty}: ${circle}. None of them continues until one is cancelled or killed.`;
}

function endSentence({ id, situation }: ChainLink, nowMs: number): string {
  if (situation === undefined) return `The last invocation of this chain is ${id}, which is not stored (any more).`;
  return `The last invocation of this chain is ${id} (${targetText(situation.invocation.facts.target)}): ${lowerFirst(ownSentence(situation, nowMs))}`;
}

function delayedSentence({ startsAtMs, debounce }: Extract<Wait, { kind: "delayedStart" }>, nowMs: number): string {
  const start = `starts at ${moment(startsAtMs)} (${distance(startsAtMs, nowMs)})`;
  if (debounce === undefined) return `It was submitted with a delay and ${start}.`;
  const { sendCount, startByMs } = debounce;
  const sends = sendCount === 1 ? "1 send became it" : `${sendCount} sends became it`;
  return `It is debounced: ${sends}, and it ${start} with the newest input; another send moves that, at the latest to ${moment(startByMs)}.`;
}

/** Returns the sentence about one invocation's wait, without the chain. */
export function ownSentence(situation: Situation, nowMs: number): string {
  const { wait, sinceMs, invocation, route } = situation;
  const since = `for ${lasting(nowMs - sinceMs)}`;
  switch (wait.kind) {
    case "completed":
      return completedSentence(wait, sinceMs);
    case "delayedStart":
      return delayedSentence(wait, nowMs);
    case "objectLock":
      return lockSentence(wait, since);
    case "limit":
      return limitSentence(wait.flow, since, nowMs);
    case "invokerSlot":
      return `It is ready to run and has waited ${since} for a slot of its worker: all slots are in use, or its endpoint accepts no more streams. It starts when another attempt ends.`;
    case "running":
      return runningSentence(wait, since, nowMs);
    case "retry":
      return retrySentence(wait, route, nowMs);
    case "awaiting":
      return `It has been suspended ${since} and waits for ${awaitedText(wait.awaiting, nowMs)}.`;
    case "paused": {
      const why =
        wait.failure === undefined
          ? "by request"
          : `after a failed attempt (${failureText(wait.failure)}), by its retry policy or by request`;
      const gone =
        route.kind === "found"
          ? ""
          : ` Before that, ${lowerFirst(routeProblem(route.kind, route.deploymentId, invocation.facts.target.service, invocation.facts.target.handler))}`;
      return `It has been paused ${since} ${why}; it continues when it is resumed.${gone}`;
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
  const lockText = `the lock of the object ${service}/${key}`;
  const held = lock.holder === undefined ? "" : `, which ${lock.holder} holds`;
  if (lock.isPaused) {
    return `It has waited ${since} for ${lockText}${held}. The queue of the object is paused: no invocation starts until the queue is resumed. ${placeText(lock)}.`;
  }
  return `It has waited ${since} for ${lockText}${held}. ${placeText(lock)}.`;
}

function placeText({ ahead, aheadIsLeast }: LockFacts): string {
  if (ahead === 0 && !aheadIsLeast) return "It is the next in the queue";
  return `${aheadIsLeast ? "At least " : ""}${ahead} ${ahead === 1 ? "invocation is" : "invocations are"} ahead of it in the queue`;
}

function limitSentence(flow: FlowFacts, since: string, nowMs: number): string {
  const name = flow.limitKey === undefined ? flow.scope : `${flow.scope}/${flow.limitKey}`;
  if (flow.isQueuePaused)
    return `It has waited ${since} in the queue of '${name}', which is paused; it starts when the queue is resumed.`;
  const full = flow.levels.find(({ isFull }) => isFull);
  const place = flow.place === undefined ? "" : `, at position ${flow.place} of its queue`;
  if (full === undefined) return `It has waited ${since} for a slot in '${name}'${place}.`;
  if (full.nextAtMs !== undefined) {
    return `It has waited ${since} for the rate limit of '${full.name}' (rule '${full.rule}')${place}; the next invocation may start at ${moment(full.nextAtMs)} (${distance(full.nextAtMs, nowMs)}).`;
  }
  return `It has waited ${since} for a slot of '${full.name}', where ${full.used} of ${full.limit ?? "?"} slots are in use (rule '${full.rule}') and ${full.waiting} ${full.waiting === 1 ? "invocation waits" : "invocations wait"}${place}; it starts when a running one ends, suspends or is paused, or the limit of the rule is raised. A handler that waits keeps its slot until it suspends.`;
}

function runningSentence(wait: Wait & { kind: "running" }, since: string, nowMs: number): string {
  const where = wait.deploymentId === undefined ? "" : ` on ${wait.deploymentId}`;
  const attempt = wait.attempt > 1 ? ` in attempt ${wait.attempt}` : "";
  const pause = wait.pauseRequested ? "; a pause was requested and takes effect when this attempt stops" : "";
  return `It has been running${where}${attempt} ${since}${doing(wait, nowMs)}${pause}.`;
}

function doing({ awaiting, open, lastStep, endpointAnswer }: Wait & { kind: "running" }, nowMs: number): string {
  // This comes first, because the journal shows an earlier attempt then.
  if (endpointAnswer === "nothing") return "; its endpoint has not sent response headers yet";
  if (endpointAnswer === "headers") return "; its endpoint has sent response headers, and the SDK no message yet";
  if (awaiting !== undefined) return ` and waits for ${awaitedText(awaiting, nowMs)}`;
  if (open.length > 0) return `; no result yet of ${listed(open, nowMs, "and")}`;
  return lastStep === undefined ? "" : `; its last step is ${stepText(lastStep)}`;
}

function stepText({ type, name, subject, index }: JournalStep): string {
  const label = name === "" ? subject : name;
  return `${type}${label === "" ? "" : ` '${label}'`} (journal entry ${index})`;
}

function retrySentence(wait: Wait & { kind: "retry" }, route: Situation["route"], nowMs: number): string {
  const why = wait.failure === undefined ? "" : ` with ${failureText(wait.failure)}`;
  const when =
    wait.nextAtMs === undefined
      ? "the next one starts as soon as the failed one has ended and a slot is free"
      : `the next one starts at ${moment(wait.nextAtMs)} (${distance(wait.nextAtMs, nowMs)})`;
  const left =
    wait.attemptsLeft === undefined
      ? "its retry policy does not limit attempts"
      : `${wait.attemptsLeft} ${wait.attemptsLeft === 1 ? "attempt" : "attempts"} left, then it ${wait.onExhausted === "kill" ? "fails" : "is paused"}`;
  const problem = problemOf(route, wait.failure);
  return `Attempt ${wait.attempts} failed${why}; ${when} (${left}).${problem}`;
}

/** Why attempts fail, as far as the registry and the error show it. */
function problemOf(route: Situation["route"], failure: AttemptError | undefined): string {
  if (route.kind === "gone")
    return ` Its deployment ${route.deploymentId} was removed: no attempt will succeed until it is moved to another one.`;
  if (route.kind === "noService") return " No deployment serves it: no attempt will succeed until one is registered.";
  if (route.kind === "handlerRemoved") return ` Deployment ${route.deploymentId} no longer serves its handler.`;
  if (failure?.code === UNSUPPORTED_FEATURE && failure.message.includes("protocol version")) {
    return " Its SDK needs a newer service protocol for this: raise worker.invoker.max-protocol-version (to 7).";
  }
  return failure?.errorCode === "RT0010" ? " The connection to its endpoint failed." : "";
}

/** Error code of SDKs for a feature that the negotiated protocol version lacks (service-protocol §6.3). */
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
  if (leaves.length === 0) return "a cancellation only";
  if (leaves.length === 1) return leafText(present(leaves[0]), nowMs);
  const isFlat = awaiting.children.every(({ kind }) => kind !== "node");
  const outer = soleNode(awaiting);
  const mode = isFlat ? awaiting.mode : outer?.mode;
  switch (mode) {
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

/** SDKs wrap what the handler awaits into "this, or a cancellation"; the inner node corresponds to the handler's code. */
function soleNode(node: AwaitNode): AwaitNode | undefined {
  const others = node.children.filter(({ kind }) => kind !== "cancellation");
  const only = others[0];
  if (others.length !== 1 || only?.kind !== "node") return undefined;
  return only.children.every(({ kind }) => kind !== "node") ? only : soleNode(only);
}

function listed(leaves: readonly AwaitLeaf[], nowMs: number, conjunction: "and" | "or"): string {
  const named = leaves.slice(0, NAMED_IN_SENTENCE_MAX).map((leaf) => leafText(leaf, nowMs));
  const rest = leaves.length - named.length;
  if (rest > 0) return `${named.join(", ")} ${conjunction} ${rest} more`;
  return named.length === 1 ? (named[0] ?? "") : `${named.slice(0, -1).join(", ")} ${conjunction} ${named.at(-1)}`;
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
      return leaf.name === "" ? "an unnamed step" : `its step '${leaf.name}'`;
    case "answer":
      return `the response to its ${leaf.type} command`;
    case "awakeable":
      return `the awakeable ${leaf.id}, which a client or another handler must complete`;
    case "signal":
      return `the signal '${leaf.name}', which a client or another handler must send`;
    case "cancellation":
      return "a cancellation";
    case "unknown":
      return `completion ${leaf.completionId}`;
    default:
      return unreachable(leaf);
  }
}

// ── remedies ─────────────────────────────────────────────────────────────────────────────────────

/** Actions that an operator can take, the least intrusive first. */
export function remediesOf({ situation, deadlock }: Explanation): readonly Remedy[] {
  const { id, wait, route } = situation;
  const patch = (verb: string, effect: string): Remedy => ({ request: `PATCH /invocations/${id}/${verb}`, effect });
  const remedies: Remedy[] = [];
  switch (wait.kind) {
    case "retry":
      if (route.kind === "gone" || route.kind === "handlerRemoved") {
        remedies.push(
          patch("pause", "stops the attempts, so that the invocation can be moved"),
          patch("resume?deployment=latest", "when it is paused: continues with the latest deployment"),
        );
      } else if (route.kind === "noService")
        remedies.push({ request: "POST /deployments", effect: "registers a deployment that serves its handler" });
      else remedies.push(patch("resume", "retries immediately, with the full number of attempts"));
      break;
    case "paused":
      if (route.kind === "gone" || route.kind === "handlerRemoved")
        remedies.push(patch("resume?deployment=latest", "continues with the latest deployment"));
      else remedies.push(patch("resume", "continues where it stopped"));
      break;
    case "limit":
      remedies.push(
        wait.flow.isQueuePaused
          ? queueResumption({ service: situation.invocation.facts.target.service, ...placeOf(wait.flow), lockKey: undefined })
          : { request: "PUT /limits/rules", effect: "a rule with a higher limit lets it start sooner" },
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
      effect: "cancels one of the invocations that wait for each other",
    });
  }
  if (wait.kind !== "completed")
    remedies.push(
      patch("cancel", "requests its cancellation; its handler can run compensations"),
      patch("kill", "terminates it immediately, without compensations"),
    );
  return remedies;
}

function queueResumption(queue: VqueueIdentity): Remedy {
  return { request: `POST /vqueues/${vqueueId(queue)}/resume`, effect: "resumes the queue" };
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

// ── texts ────────────────────────────────────────────────────────────────────────────────────────

function failureText({ errorCode, code, message }: AttemptError): string {
  return `${errorCode} [${code}] ${quoted(message)}`;
}

function quoted(message: string): string {
  const line = message.replace(/\s+/g, " ").trim();
  return `"${line.length > QUOTED_CHARS_MAX ? `${line.slice(0, QUOTED_CHARS_MAX)}…` : line}"`;
}

/** Returns a duration as text. From one second on, whole seconds are precise enough for a reader. */
function lasting(ms: number): string {
  const whole = Math.max(0, ms);
  return formatDuration(whole < 1000 ? whole : Math.floor(whole / 1000) * 1000);
}

function distance(atMs: number, nowMs: number): string {
  if (atMs > nowMs) return `in ${lasting(atMs - nowMs)}`;
  return atMs === nowMs ? "now" : `${lasting(nowMs - atMs)} ago`;
}

/** A time from the clock of another machine or from a user may be outside the range of dates. */
function moment(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "the end of time" : date.toISOString();
}

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}
