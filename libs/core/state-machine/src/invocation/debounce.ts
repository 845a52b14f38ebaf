/**
 * Debounced invocations: sends with one debounce key become one scheduled invocation until it starts. A burst is the sends that became the
 * same invocation; the row of its key names that invocation, and the newest of its sends. Both live in the partition of the key, so one
 * command reads, replaces and stores them together.
 *
 * The row is user state of a service that no deployment can have. It is kept as long as the invocation: a send that is submitted again
 * after its burst has started must find that burst and not begin another.
 */
import { fromUtf8, type InvocationId, idempotentInvocationId, invariant, utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { Invoke, TimerKey } from "../command.js";
import type { Debounce, Invocation, InvocationFacts, Scheduled } from "../invocation.js";
import type { Target } from "../target.js";
import type { Transition } from "../transition.js";
import type { PartitionView } from "../view.js";

/** Service of the rows of debounce keys. No name of a service has a colon. */
export const DEBOUNCE_SERVICE = ":debounce";
export const DEBOUNCE_STATE_KEY = "burst";

/** Newest sends of a key that are recognised by their number when they arrive again late: what one connection has in transit. */
const RECOGNISED_SENDS_MAX = 32;

interface Burst {
  readonly id: InvocationId;
  /** Request ids of its newest sends, newest last. */
  readonly requestIds: readonly number[];
}

/** What is stored of a debounce key. */
interface Bursts {
  /** When the newest send was created, by the clock of its sender. */
  readonly newestCreatedAtMs: number;
  /**
   * Newest first, at least one. Earlier ones stay as long as their sends are recognised: such a send may arrive again when a later burst has
   * begun.
   */
  readonly bursts: readonly [Burst, ...Burst[]];
}

type DebouncedFacts = InvocationFacts & { readonly debounce: Debounce };

export function isDebounced(facts: InvocationFacts): facts is DebouncedFacts {
  return facts.debounce !== undefined;
}

/** Key of the row of a debounce key: the id that the target has with it as idempotency key, so its length is fixed. */
export function debounceRowKey(target: Target, debounceKey: string): string {
  return idempotentInvocationId(target, debounceKey);
}

/**
 * Handles a send whose burst exists: it replaces the input and the start of the invocation that has not started, or is recognised as one
 * that was handled before. Returns false when the send begins a burst.
 */
export function joinBurst(view: PartitionView, command: Invoke & { readonly facts: DebouncedFacts }, out: Transition): boolean {
  const stored = burstsOf(view, command.facts);
  if (stored === undefined) return false;
  const repeated = burstOfRepeated(stored, command);
  if (repeated !== undefined) {
    const invocation = view.invocation(repeated.id);
    // Its outcome may be in the archive or purged; the sender then learns that the outcome is unknown, and nothing runs twice.
    const answer =
      invocation === undefined ? ({ kind: "notFound" } as const) : ({ kind: "previouslyAccepted", invocation } as const);
    out.effect({ kind: "reply", answer });
    return true;
  }
  const [{ id, requestIds }, ...earlier] = stored.bursts;
  const invocation = view.invocation(id);
  if (invocation?.status !== "scheduled") return false;
  const joined = replaceInput(view, invocation, command, out);
  putBursts(out, joined.facts, {
    newestCreatedAtMs: Math.max(stored.newestCreatedAtMs, command.facts.createdAtMs),
    bursts: [{ id, requestIds: [...requestIds, command.facts.requestId] }, ...earlier],
  });
  out.effect({ kind: "reply", answer: { kind: "previouslyAccepted", invocation: joined } });
  return true;
}

/** Returns the facts of the first invocation of a burst, with times by the partition's clock, and stores its row. */
export function beginBurst(view: PartitionView, facts: DebouncedFacts, out: Transition): InvocationFacts {
  const startByMs = out.nowMs + (facts.debounce.startByMs - facts.createdAtMs);
  const executionTimeMs = dueAtMs(facts, startByMs, out);
  // Facts that another process sent carry their encoded form, with the times of the sender.
  const first: InvocationFacts = { ...facts, executionTimeMs, debounce: { ...facts.debounce, startByMs }, bytes: undefined };
  const before = burstsOf(view, facts);
  putBursts(out, first, {
    newestCreatedAtMs: Math.max(before?.newestCreatedAtMs ?? 0, facts.createdAtMs),
    bursts: [{ id: facts.id, requestIds: [facts.requestId] }, ...(before?.bursts ?? [])],
  });
  return first;
}

/** The invocation is deleted: the row of its key is deleted too, unless a later burst has it. */
export function endBurst(view: PartitionView, facts: InvocationFacts, out: Transition): void {
  if (!isDebounced(facts) || burstsOf(view, facts)?.bursts[0].id !== facts.id) return;
  const key = debounceRowKey(facts.target, facts.debounce.key);
  out.mutate({ kind: "deleteState", service: DEBOUNCE_SERVICE, key, stateKey: DEBOUNCE_STATE_KEY });
}

/**
 * The burst of a send that arrives again: its number is among the newest, or it is marked as submitted again and is not newer than the
 * newest input. If such a send never arrived before, it would have arrived before the newest one, which replaces its input.
 */
function burstOfRepeated({ newestCreatedAtMs, bursts }: Bursts, { facts, resubmission }: Invoke): Burst | undefined {
  const recorded = bursts.find(({ requestIds }) => facts.requestId !== 0 && requestIds.includes(facts.requestId));
  return recorded ?? (resubmission === true && facts.createdAtMs <= newestCreatedAtMs ? bursts[0] : undefined);
}

/** Replaces input, facts and timer of an invocation that has not started; signals that it received stay behind the input. */
function replaceInput(
  view: PartitionView,
  pending: Scheduled,
  { facts, input, sink }: Invoke & { readonly facts: DebouncedFacts },
  out: Transition,
): Scheduled {
  const { id, createdAtMs, requestId, debounce } = pending.facts;
  invariant(debounce !== undefined, "the row of a debounce key names a debounced invocation");
  const { length } = pending.journal;
  const [, ...signals] = view.journalOf(id, length);
  out.mutate({ kind: "deleteJournal", id, length });
  const entry = { type: MessageType.Input, body: input, appendedAtMs: out.nowMs };
  out.mutate({ kind: "appendEntry", id, index: 0, entry });
  for (const [n, signal] of signals.entries()) {
    invariant(signal !== undefined, "a journal has no holes");
    out.mutate({ kind: "appendEntry", id, index: n + 1, entry: signal });
  }
  const joined: Scheduled = {
    ...pending,
    modifiedAtMs: out.nowMs,
    facts: {
      ...facts,
      id,
      createdAtMs,
      requestId,
      executionTimeMs: dueAtMs(facts, debounce.startByMs, out),
      debounce: { ...debounce, sendCount: debounce.sendCount + 1 },
      bytes: undefined,
    },
    sinks: sink === undefined ? pending.sinks : [...pending.sinks, sink],
  };
  out.mutate({ kind: "putInvocation", invocation: joined });
  moveTimer(pending, joined, out);
  return joined;
}

function moveTimer(from: Scheduled, to: Scheduled, out: Transition): void {
  const before = startTimerOf(from);
  const timer = startTimerOf(to);
  if (before.dueAtMs === timer.dueAtMs) return;
  out.mutate({ kind: "deleteTimer", timer: before });
  out.mutate({ kind: "putTimer", timer });
  out.effect({ kind: "armTimer", timer });
}

function startTimerOf({ facts }: Invocation): TimerKey {
  return { dueAtMs: facts.executionTimeMs ?? 0, kind: "start", id: facts.id, sequence: 0 };
}

/** The send's quiet time from now on by the partition's clock, at the latest `startByMs`. */
function dueAtMs({ executionTimeMs, createdAtMs }: InvocationFacts, startByMs: number, out: Transition): number {
  invariant(executionTimeMs !== undefined, "a debounced send is delayed");
  return Math.min(startByMs, out.nowMs + (executionTimeMs - createdAtMs));
}

// ── the row as text: newest creation time, then each burst as its id and its request ids ────────────

function burstsOf(view: PartitionView, { target, debounce }: DebouncedFacts): Bursts | undefined {
  const row = view.state(DEBOUNCE_SERVICE, debounceRowKey(target, debounce.key), DEBOUNCE_STATE_KEY);
  if (row === undefined) return undefined;
  const [newestCreatedAtMs, ...texts] = fromUtf8(row).split("|");
  const [last, ...earlier] = texts.map(readBurst);
  // A row that was written before rows held several bursts.
  if (last === undefined) return undefined;
  return { newestCreatedAtMs: Number(newestCreatedAtMs), bursts: [last, ...earlier] };
}

function readBurst(text: string): Burst {
  const [id, ...requestIds] = text.split(" ");
  return { id: id as InvocationId, requestIds: requestIds.map(Number) };
}

function putBursts(out: Transition, { target, debounce }: InvocationFacts, { newestCreatedAtMs, bursts }: Bursts): void {
  invariant(debounce !== undefined, "a burst is one of debounced sends");
  const texts: string[] = [];
  let places = RECOGNISED_SENDS_MAX;
  for (const { id, requestIds } of bursts) {
    if (places === 0) break;
    const kept = requestIds.slice(-places);
    places -= kept.length;
    texts.push([id, ...kept].join(" "));
  }
  const value = utf8([newestCreatedAtMs, ...texts].join("|"));
  const key = debounceRowKey(target, debounce.key);
  out.mutate({ kind: "putState", service: DEBOUNCE_SERVICE, key, stateKey: DEBOUNCE_STATE_KEY, value });
}
