/** Sends one replay of a journal to a candidate endpoint, with the headers and the first message of a real attempt. */
import type { Clock } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { EndpointTransport, RequestIdentity, StreamRequest } from "@perdure/endpoint-transport";
import { MessageType, type ProtocolVersion } from "@perdure/service-protocol";
import type { AttemptError, InvocationFacts, JournalEntry } from "@perdure/state-machine";
import { failure } from "../attempt-failure.js";
import { startBody } from "../attempt-plan.js";
import type { InvokerOptions } from "../options.js";
import { invokePath, requestHeaders } from "../request-headers.js";
import { type ReplayEnd, replay, type StepListener } from "./replay-stream.js";

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
  /** `state` may lack keys: the handler requests those. */
  readonly isStatePartial?: boolean | undefined;
  readonly lastStoredAtMs: number;
}

export interface ReplayCheckDeps {
  readonly transports: { readonly http: EndpointTransport; readonly lambda?: EndpointTransport | undefined };
  /** Signs requests in the same way as those of real attempts. */
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
}

export type ReplayCheckOptions = Pick<InvokerOptions, "messageBytesMax" | "eagerStateBytesMax" | "additionalRequestHeaders">;

interface ReplayRecipient {
  readonly candidate: DeploymentView;
  readonly subject: Pick<SentReplay["subject"], "facts" | "version">;
  /** The request is marked as a check. */
  readonly isMarked: boolean;
}

export interface SentReplay extends ReplayRecipient {
  readonly subject: ReplaySubject & { readonly version: ProtocolVersion };
  /** Sent in place of the entries of the subject. */
  readonly entries: readonly JournalEntry[];
  /** Infinite: no limit. */
  readonly timeoutMs: number;
  /** Steps are executed, and passed to this listener with reads and writes of state; without it each of them ends the replay. */
  readonly onStep?: StepListener | undefined;
}

/** Never rejects, unless the journal cannot be decoded. */
export function sendReplay(
  deps: ReplayCheckDeps,
  options: ReplayCheckOptions,
  sent: SentReplay,
  signal: AbortSignal,
): Promise<ReplayEnd> {
  const { transports, clock } = deps;
  const { candidate, subject, entries, timeoutMs, onStep } = sent;
  const transport = candidate.address.kind === "lambda" ? transports.lambda : transports.http;
  if (transport === undefined) {
    const error = errorOf("RT0010", "this server is not set up to call AWS Lambda");
    return Promise.resolve({ kind: "failed", error });
  }
  const plan = { ...replayPlanOf(subject, clock.nowMs(), options), entries };
  const frames = [{ type: MessageType.Start, body: startBody(plan) }, ...entries];
  const request = replayRequestOf(sent, deps, options);
  const bounds = { timeoutMs, messageBytesMax: options.messageBytesMax };
  return replay({ transport, clock }, { request, version: subject.version, frames, onStep }, bounds, signal);
}

export function replayPlanOf(
  { facts, version, state, isStatePartial, lastStoredAtMs }: SentReplay["subject"],
  nowMs: number,
  options: ReplayCheckOptions,
) {
  return {
    facts,
    run: 0,
    version,
    mode: "requestResponse" as const,
    state,
    isStatePartial,
    retryCountSinceLastStoredEntry: 0,
    durationSinceLastStoredEntryMs: Math.max(0, nowMs - lastStoredAtMs),
    eagerStateBytesMax: options.eagerStateBytesMax,
    messageBytesMax: options.messageBytesMax,
    // All entries that are present may be replayed.
    journalEntriesMax: Number.POSITIVE_INFINITY,
    journalBytesMax: Number.POSITIVE_INFINITY,
  };
}

export function replayRequestOf(
  { candidate: deployment, subject: { facts, version }, isMarked }: ReplayRecipient,
  { identity }: Pick<ReplayCheckDeps, "identity">,
  { additionalRequestHeaders: additional }: ReplayCheckOptions,
): StreamRequest {
  const { address } = deployment;
  const path = invokePath(facts);
  const trace = undefined; // The request is not an attempt, and not part of the invocation's trace.
  const headers = requestHeaders({ facts, version, path, trace, additional, deployment, identity });
  if (isMarked) headers[CHECK_HEADER] = CHECK_HEADER_VALUE;
  const requestResponse = deployment.protocolType === "requestResponse" || address.kind === "lambda";
  return { address, method: "POST", path, headers, requestResponse };
}

export function errorOf(code: "RT0006" | "RT0010" | "RT0014", message: string): AttemptError {
  return failure(code, message).error;
}
