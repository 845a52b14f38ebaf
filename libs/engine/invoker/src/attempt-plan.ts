/** Input of an attempt, the host that it uses, and the message that it begins with. */
import { concatBytes, invocationIdToRaw, type Logger, present, randomSeedOf } from "@perdure/base";
import { encodeStartInPieces, type ProtocolVersion } from "@perdure/service-protocol";
import type { AttemptCommand, InvocationFacts, JournalEntry } from "@perdure/state-machine";
import type { AttemptFailure } from "./attempt-failure.js";
import type { CalleeDeps } from "./callee.js";
import { eagerState } from "./eager-state.js";
import type { OutgoingSink } from "./outgoing.js";

/** Input of an attempt; nothing of it changes while the attempt runs. */
export interface AttemptPlan {
  readonly facts: InvocationFacts;
  /** Stamped on every command, so that the partition can drop commands of an earlier run. */
  readonly run: number;
  readonly version: ProtocolVersion;
  /** `requestResponse` half-closes the request right after the replay. */
  readonly mode: "bidi" | "requestResponse";
  /** The whole journal. */
  readonly entries: readonly JournalEntry[];
  /** All state in storage order; undefined when the handler has no state or reads it lazily. */
  readonly state: ReadonlyMap<string, Uint8Array> | undefined;
  /** `state` may lack keys: the handler requests those. */
  readonly isStatePartial?: boolean | undefined;
  readonly retryCountSinceLastStoredEntry: number;
  readonly durationSinceLastStoredEntryMs: number;
  readonly eagerStateBytesMax: number;
  readonly messageBytesMax: number;
  readonly journalEntriesMax: number;
  /** Total bytes of the bodies of all entries. */
  readonly journalBytesMax: number;
}

export type AttemptEnding =
  | { readonly kind: "suspended" }
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly failure: AttemptFailure };

export interface AttemptOutput extends OutgoingSink {
  submit(command: AttemptCommand): void;
  /** A submitted command has not reached the partition yet: the frames behind it wait. */
  readonly isSubmitting: boolean;
  /** The outcome of the attempt, called once; the response may continue, but it is ignored. */
  over(ending: AttemptEnding): void;
}

export interface AttemptDeps extends CalleeDeps {
  readonly logger: Logger;
}

/** Body of the Start frame (service-protocol §3.4). */
export function startBody(plan: AttemptPlan): Uint8Array {
  const pieces = startInPieces(plan);
  return pieces.length === 1 ? present(pieces[0]) : concatBytes(...pieces);
}

/** The same body in pieces; large values of the state are pieces of their own. */
export function startInPieces(plan: AttemptPlan): readonly Uint8Array[] {
  const { facts } = plan;
  const state = eagerState(plan.state, plan.eagerStateBytesMax);
  return encodeStartInPieces(
    {
      kind: "start",
      id: invocationIdToRaw(facts.id),
      debugId: facts.id,
      knownEntries: plan.entries.length,
      state: state.entries,
      partialState: state.partial || plan.isStatePartial === true,
      key: facts.target.key ?? "",
      retryCountSinceLastStoredEntry: plan.retryCountSinceLastStoredEntry,
      durationSinceLastStoredEntryMs: plan.durationSinceLastStoredEntryMs,
      randomSeed: facts.randomSeed ?? randomSeedOf(facts.id),
      scope: facts.target.scope,
      limitKey: facts.limitKey,
      idempotencyKey: facts.idempotencyKey,
    },
    plan.version,
  );
}
