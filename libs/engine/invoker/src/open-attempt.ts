/** Opens an attempt from a run and a route: the request to the endpoint, its mode and its transport. */
import type { DeploymentView } from "@perdure/control";
import type { LostAttempt, StreamRequest } from "@perdure/endpoint-transport";
import type { InvocationFacts, JournalEntry } from "@perdure/state-machine";
import { Attempt } from "./attempt.js";
import { type AttemptFailure, failure } from "./attempt-failure.js";
import type { AttemptOwner } from "./attempt-owner.js";
import type { AttemptPlan } from "./attempt-plan.js";
import { LARGE_MESSAGE_BYTES } from "./limits.js";
import type { AttemptRoute } from "./pin.js";
import { invokePath, requestHeaders } from "./request-headers.js";
import type { RunContext } from "./run-context.js";
import { childSpan } from "./trace.js";

export interface Opening {
  readonly facts: InvocationFacts;
  readonly run: number;
  readonly route: AttemptRoute;
  readonly entries: readonly JournalEntry[];
  /** Undefined when the handler has no state or reads it lazily. */
  readonly state: ReadonlyMap<string, Uint8Array> | undefined;
  readonly retryCountSinceLastStoredEntry: number;
  readonly lastStoredAtMs: number;
  /** Number of the attempt in this run, from 1. */
  readonly attempt: number;
  /** The attempt of the process that led before. */
  readonly lost?: LostAttempt | undefined;
}

export type Opened =
  | { readonly kind: "opened"; readonly attempt: Attempt }
  | { readonly kind: "failed"; readonly failure: AttemptFailure };

export function openAttempt(opening: Opening, owner: AttemptOwner, context: RunContext): Opened {
  const { facts, run, route } = opening;
  const {
    transports,
    options,
    registry,
    clock,
    random,
    scopesEnabled,
    preferredPartitions,
    logger,
    flushes,
    deadlines,
    shares,
    pace,
    largeMessages,
    metrics,
  } = context;
  const { deployment, handler } = route;
  const transport = deployment.address.kind === "lambda" ? transports.lambda : transports.http;
  if (transport === undefined)
    return { kind: "failed", failure: failure("RT0010", "this server is not set up to call AWS Lambda") };
  const inactivityTimeoutMs = handler?.inactivityTimeoutMs ?? options.inactivityTimeoutMsDefault;
  const bidi = deployment.protocolType === "bidiStream" && deployment.address.kind === "http" && inactivityTimeoutMs > 0;
  const plan: AttemptPlan = {
    facts,
    run,
    version: route.version,
    mode: bidi ? "bidi" : "requestResponse",
    entries: opening.entries,
    state: opening.state,
    retryCountSinceLastStoredEntry: opening.retryCountSinceLastStoredEntry,
    durationSinceLastStoredEntryMs: Math.max(0, clock.nowMs() - opening.lastStoredAtMs),
    eagerStateBytesMax: options.eagerStateBytesMax,
    messageBytesMax: options.messageBytesMax,
    journalEntriesMax: options.journalEntriesMax,
    journalBytesMax: options.journalBytesMax,
  };
  const times = { inactivityTimeoutMs, abortTimeoutMs: handler?.abortTimeoutMs ?? options.abortTimeoutMsDefault };
  try {
    const request = requestOf(plan, deployment, opening, context);
    const attempt = new Attempt(plan, request, times, owner, {
      registry,
      random,
      scopesEnabled,
      preferredPartitions,
      clock,
      logger,
      flushes,
      deadlines,
      shares,
      pace,
      largeMessages,
      metrics,
      transport,
    });
    return { kind: "opened", attempt };
  } catch (cause) {
    logger.error({ invocationId: facts.id, run, cause }, "attempt could not be opened");
    return { kind: "failed", failure: failure("RT0006", "the attempt could not be opened", { countsForSdk: false }) };
  }
}

function requestOf(
  plan: AttemptPlan,
  deployment: DeploymentView,
  { attempt, lost }: Pick<Opening, "attempt" | "lost">,
  context: RunContext,
): StreamRequest {
  const { facts, version, mode } = plan;
  const { identity, options, random } = context;
  const path = invokePath(facts);
  const headers = requestHeaders({
    facts,
    version,
    path,
    trace: childSpan(facts.trace, random),
    additional: options.additionalRequestHeaders,
    deployment,
    identity,
  });
  const requestResponse = mode === "requestResponse";
  return {
    address: deployment.address,
    method: "POST",
    path,
    headers,
    requestResponse,
    attempt,
    invocationTraceparent: facts.trace?.traceparent,
    lost,
    isLarge: isLarge(plan),
  };
}

/** Whether the first frames take much of a connection's time. */
function isLarge({ entries, state }: AttemptPlan): boolean {
  let bytes = 0;
  for (const { body } of entries) bytes += body.length;
  if (bytes < LARGE_MESSAGE_BYTES && state !== undefined) for (const value of state.values()) bytes += value.length;
  return bytes >= LARGE_MESSAGE_BYTES;
}
