/**
 * Checks whether a candidate endpoint could continue a stored journal. The endpoint replays the journal, performs nothing, and the result
 * is how far it follows. The journal first ends in a stop that keeps the handler from starting a step (see `checked-journal.ts`). When
 * the result is ambiguous, the journal is replayed again without the stop: to find whether the handler waits at the end of its journal,
 * where it may, and whether it returns what it returned before. Neither starts a step of a deterministic handler.
 */
import { type Clock, type Logger, PerdureError } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { EndpointTransport, RequestIdentity, StreamRequest } from "@perdure/endpoint-transport";
import { isSupportedVersion, MessageType, type ProtocolVersion } from "@perdure/service-protocol";
import type { AttemptError, InvocationFacts, JournalEntry } from "@perdure/state-machine";
import { failure } from "../attempt-failure.js";
import { startBody } from "../attempt-plan.js";
import type { InvokerOptions } from "../options.js";
import { invokePath, requestHeaders } from "../request-headers.js";
import { type CheckedJournal, checkedJournal } from "./checked-journal.js";
import { evaluateGuarded, evaluatePlain, type ReplayResult } from "./evaluate.js";
import { type ReplayEnd, replay } from "./replay-stream.js";

/** Marks a request as a check. Handlers can read the header and skip what they do outside of steps. */
export const CHECK_HEADER = "x-perdure-check";
export const CHECK_HEADER_VALUE = "replay";

/** The invocation of the journal. */
export interface ReplaySubject {
  readonly facts: InvocationFacts;
  /** Service protocol version that the invocation is pinned to. */
  readonly version: number;
  readonly isCompleted: boolean;
  /** The whole journal as stored. */
  readonly entries: readonly JournalEntry[];
  /** All state in storage order; undefined when the handler has no state or reads it lazily. */
  readonly state: ReadonlyMap<string, Uint8Array> | undefined;
  readonly lastStoredAtMs: number;
}

export type SpokenSubject = ReplaySubject & { readonly version: ProtocolVersion };

export interface ReplayCheckDeps {
  readonly transports: { readonly http: EndpointTransport; readonly lambda?: EndpointTransport | undefined };
  /** Signs requests in the same way as those of real attempts. */
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export type ReplayCheckOptions = Pick<InvokerOptions, "messageBytesMax" | "eagerStateBytesMax" | "additionalRequestHeaders">;

export interface ReplayCheck {
  /** `timeoutMs` is the timeout of all replays of this journal. Never rejects; an aborted `signal` makes the result a failure. */
  check(candidate: DeploymentView, subject: ReplaySubject, timeoutMs: number, signal: AbortSignal): Promise<ReplayResult>;
}

export function createReplayCheck(deps: ReplayCheckDeps, options: ReplayCheckOptions): ReplayCheck {
  const { transports, clock, logger } = deps;

  function runReplay(
    candidate: DeploymentView,
    subject: SpokenSubject,
    entries: readonly JournalEntry[],
    untilMs: number,
    signal: AbortSignal,
  ): Promise<ReplayEnd> {
    const transport = candidate.address.kind === "lambda" ? transports.lambda : transports.http;
    if (transport === undefined) return Promise.resolve(unreachableEnd("this server is not set up to call AWS Lambda"));
    const plan = { ...replayPlanOf(subject, clock.nowMs(), options), entries };
    const frames = [{ type: MessageType.Start, body: startBody(plan) }, ...entries];
    const request = checkRequestOf(candidate, subject, deps, options);
    const bounds = { timeoutMs: Math.max(1, untilMs - clock.monotonicMs()), messageBytesMax: options.messageBytesMax };
    return replay({ transport, clock }, { request, version: subject.version, frames }, bounds, signal);
  }

  return {
    async check(candidate, subject, timeoutMs, signal) {
      const untilMs = clock.monotonicMs() + timeoutMs;
      const { isCompleted, version } = subject;
      if (!isSupportedVersion(version)) {
        return { kind: "failed", error: errorOf("RT0014", `service protocol ${version} is not spoken here`) };
      }
      const spoken = { ...subject, version };
      try {
        const journal: CheckedJournal = checkedJournal(subject.entries);
        const guarded = evaluateGuarded(
          journal,
          await runReplay(candidate, spoken, journal.guarded, untilMs, signal),
          isCompleted,
        );
        if (guarded.kind !== "waits" && guarded.kind !== "returned") return guarded;
        return evaluatePlain(journal, await runReplay(candidate, spoken, journal.entries, untilMs, signal), isCompleted);
      } catch (cause) {
        const error = PerdureError.from(cause);
        logger.error({ invocationId: subject.facts.id, error, cause }, "journal could not be replayed for a check");
        return { kind: "failed", error: errorOf("RT0006", error.detail) };
      }
    },
  };
}

export function replayPlanOf(
  { facts, version, state, lastStoredAtMs }: SpokenSubject,
  nowMs: number,
  options: ReplayCheckOptions,
) {
  return {
    facts,
    run: 0,
    version,
    mode: "requestResponse" as const,
    state,
    retryCountSinceLastStoredEntry: 0,
    durationSinceLastStoredEntryMs: Math.max(0, nowMs - lastStoredAtMs),
    eagerStateBytesMax: options.eagerStateBytesMax,
    messageBytesMax: options.messageBytesMax,
    // All entries that are present may be replayed.
    journalEntriesMax: Number.POSITIVE_INFINITY,
    journalBytesMax: Number.POSITIVE_INFINITY,
  };
}

export function checkRequestOf(
  deployment: DeploymentView,
  { facts, version }: Pick<SpokenSubject, "facts" | "version">,
  { identity }: Pick<ReplayCheckDeps, "identity">,
  { additionalRequestHeaders: additional }: ReplayCheckOptions,
): StreamRequest {
  const { address } = deployment;
  const path = invokePath(facts);
  const trace = undefined; // The request is not an attempt, and not part of the invocation's trace.
  const headers = requestHeaders({ facts, version, path, trace, additional, deployment, identity });
  headers[CHECK_HEADER] = CHECK_HEADER_VALUE;
  const requestResponse = deployment.protocolType === "requestResponse" || address.kind === "lambda";
  return { address, method: "POST", path, headers, requestResponse };
}

function unreachableEnd(message: string): ReplayEnd {
  return { kind: "failed", error: errorOf("RT0010", message) };
}

function errorOf(code: "RT0006" | "RT0010" | "RT0014", message: string): AttemptError {
  return failure(code, message).error;
}
