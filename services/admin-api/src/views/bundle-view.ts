/** A bundle as JSON. */
import { BUNDLE_FORMAT, BUNDLE_VERSION, type BundleShape } from "@perdure/admin-contract";
import { fromBinaryString, randomSeedOf } from "@perdure/base";
import type { BundleSource, RedactionRules } from "@perdure/bundles";
import { timelineOf } from "@perdure/diagnostics";
import type { DeploymentRecord } from "@perdure/metadata";
import { journalEntryTypeName } from "@perdure/service-protocol";
import { type AttemptError, type Invocation, type InvocationFacts, type JournalEntry, targetText } from "@perdure/state-machine";
import { VERSION } from "@perdure/telemetry/version";
import { optionalTime, timeView } from "./explain-view.js";
import type { ViewOf } from "./response.js";
import { timelineView } from "./timeline-view.js";

type BundleResponse = ViewOf<typeof BundleShape>;
type ErrorView = NonNullable<BundleResponse["error"]>;

export interface BundleParts {
  /** Redacted already. */
  readonly source: BundleSource;
  readonly stateIsComplete: boolean;
  readonly rules: RedactionRules;
  readonly changed: number;
  readonly unsearched: number;
  /** Deployment that the invocation is pinned to, unless it was removed. */
  readonly deployment: DeploymentRecord | undefined;
  readonly nowMs: number;
  /** See `timelineOf`. */
  readonly idleMs: number | undefined;
}

export function bundleView(parts: BundleParts): BundleResponse {
  const { source, stateIsComplete, rules, nowMs, idleMs } = parts;
  const { snapshot, state } = source;
  const { invocation, entries, events } = snapshot;
  return {
    format: BUNDLE_FORMAT,
    version: BUNDLE_VERSION,
    created_at: timeView(nowMs),
    server: { version: VERSION },
    redaction: rules.isOn ? redactionView(parts) : null,
    invocation: invocationView(invocation),
    deployment: deploymentView(invocation, parts.deployment),
    journal: { entries: entries.map(entryView), length: invocation.journal.length },
    state: state === undefined ? null : { complete: stateIsComplete, entries: stateView(state) },
    events: events.map(({ kind, afterIndex, atMs, error }) => ({
      kind,
      after_index: afterIndex,
      at: timeView(atMs),
      error: error === undefined ? null : errorView(error),
    })),
    error: lastError(source),
    timeline: timelineView(timelineOf(snapshot, nowMs, idleMs, 0), invocation, true),
  };
}

function redactionView({ rules, changed, unsearched }: BundleParts): NonNullable<BundleResponse["redaction"]> {
  const { added, kept, keepsOtherFormats } = rules;
  return { changed, unsearched, added, kept, other_formats_kept: keepsOtherFormats };
}

function invocationView(invocation: Invocation): BundleResponse["invocation"] {
  const { facts, status, run, modifiedAtMs, milestones } = invocation;
  const { service, handler, key, scope, serviceType, handlerType } = facts.target;
  return {
    id: facts.id,
    target: {
      service,
      handler,
      key: key ?? null,
      scope: scope ?? null,
      service_type: serviceType,
      handler_type: handlerType,
    },
    status,
    run,
    invoked_by: invokedBy(facts),
    idempotency_key: facts.idempotencyKey ?? null,
    limit_key: facts.limitKey ?? null,
    priority: facts.priority,
    random_seed: String(facts.randomSeed ?? randomSeedOf(facts.id)),
    created_at: timeView(facts.createdAtMs),
    modified_at: timeView(modifiedAtMs),
    starts_at: optionalTime(facts.executionTimeMs),
    completed_at: optionalTime(milestones.completedAtMs),
    completion_retention_ms: facts.completionRetentionMs,
    journal_retention_ms: facts.journalRetentionMs,
    outcome: invocation.status === "completed" ? invocation.outcome.kind : null,
  };
}

function invokedBy({ source }: InvocationFacts): BundleResponse["invocation"]["invoked_by"] {
  switch (source.kind) {
    case "service":
      return { kind: "service", id: source.callerId, target: targetText(source.callerTarget) };
    case "subscription":
      return { kind: "subscription", id: source.subscriptionId, target: null };
    case "restart":
      return { kind: "restart", id: source.from, target: null };
    case "ingress":
      return { kind: "ingress", id: null, target: null };
  }
}

function deploymentView({ facts, pinned }: Invocation, deployment: DeploymentRecord | undefined): BundleResponse["deployment"] {
  if (pinned === undefined) return null;
  const service = deployment?.services.find(({ definition }) => definition.name === facts.target.service);
  return {
    deployment_id: pinned.deploymentId,
    protocol_version: pinned.protocolVersion,
    endpoint: deployment === undefined ? null : endpointOf(deployment),
    sdk: deployment?.sdkVersion ?? null,
    revision: service?.revision ?? null,
  };
}

/** Without a user name and password in the address. */
function endpointOf({ address }: DeploymentRecord): string {
  if (address.kind === "lambda") return address.arn;
  const url = URL.parse(address.uri);
  if (url === null) return address.uri;
  url.username = "";
  url.password = "";
  url.search = "";
  return url.href;
}

function entryView({ type, body, appendedAtMs }: JournalEntry, index: number) {
  return { index, type, label: journalEntryTypeName(type), at: timeView(appendedAtMs), body: base64(body) };
}

function stateView(state: ReadonlyMap<string, Uint8Array>) {
  return [...state].map(([key, value]) => ({ key: base64(fromBinaryString(key)), value: base64(value) }));
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function lastError({ snapshot }: BundleSource): ErrorView | null {
  const { invocation, held, events } = snapshot;
  if (invocation.status === "completed") {
    if (invocation.outcome.kind === "success") return null;
    const { failure, stacktrace } = invocation.outcome;
    const nothing = { command_index: null, command_name: null, command_type: null };
    return { restate_code: "", code: failure.code, message: failure.message, stacktrace: stacktrace ?? null, ...nothing };
  }
  const error = held?.lastFailure ?? events.findLast((event) => event.error !== undefined)?.error;
  return error === undefined ? null : errorView(error);
}

function errorView(error: AttemptError): ErrorView {
  return {
    restate_code: error.errorCode,
    code: error.code,
    message: error.message,
    stacktrace: error.stacktrace ?? null,
    command_index: error.relatedCommandIndex ?? null,
    command_name: error.relatedCommandName ?? null,
    command_type: error.relatedCommandType ?? null,
  };
}
