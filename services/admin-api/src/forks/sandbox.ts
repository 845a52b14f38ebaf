/** Forks an invocation in a sandbox: in memory of this process, without effects beyond its own handler (decision 0062). */
import type { SandboxShape } from "@perdure/admin-contract";
import type { SandboxBody } from "@perdure/admin-contract/requests";
import { type InvocationId, invariant, parseDuration, partitionOf, utf8 } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import { readJournal } from "@perdure/diagnostics";
import type { Sandbox, SandboxOutcome, SandboxRequest, SandboxResult, SandboxStub } from "@perdure/invoker";
import { isSupportedVersion, type ProtocolVersion, protocolVersionMax } from "@perdure/service-protocol";
import { copyPrefix, hasState, type JournalEntry, keyspaceOf } from "@perdure/state-machine";
import { RouteError } from "../http/errors.js";
import { deploymentFor } from "../invocation-operations.js";
import { SANDBOX_MS_DEFAULT, SANDBOXES_MAX } from "../limits.js";
import type { AdminPorts } from "../ports.js";
import type { ViewOf } from "../views/response.js";
import { payloadViewOf, stepViews } from "../views/timeline-view.js";
import { type ForkedJournal, forkedJournal, refusePrefix } from "./fork.js";

type SandboxResponse = ViewOf<typeof SandboxShape>;

/** Runs forks, and reads the state of keys. */
export interface SandboxPort {
  readonly sandbox: Sandbox;
  readonly stateOf: (partition: number, keyspace: string, key: string) => Promise<ReadonlyMap<string, Uint8Array>>;
}

type SandboxPorts = Pick<AdminPorts, "registry" | "partitions" | "insight" | "clock" | "random"> & {
  readonly sandboxes: SandboxPort;
};

/** At most some forks at a time: each holds a journal, and requests an endpoint without the limits of the invoker. */
export class SandboxRuns {
  readonly #ports: SandboxPorts;
  #running = 0;

  constructor(ports: SandboxPorts) {
    this.#ports = ports;
  }

  /** Rejects with `RouteError`: 429 when too many run, OPS0012 and OPS0013 as a fork does. */
  async run(id: InvocationId, body: SandboxBody, signal: AbortSignal): Promise<SandboxResponse> {
    if (this.#running >= SANDBOXES_MAX) throw new RouteError(429, `${SANDBOXES_MAX} forks already run in sandboxes`);
    this.#running++;
    try {
      return await this.#run(id, body, signal);
    } finally {
      this.#running--;
    }
  }

  async #run(id: InvocationId, body: SandboxBody, signal: AbortSignal): Promise<SandboxResponse> {
    const journal = await forkedJournal(this.#ports, id, body);
    const { invocation, entries, edits } = journal;
    const kept = copyPrefix(
      (index) => entryOf(entries, index),
      entries.length,
      { from: body.at, fork: edits },
      this.#ports.clock.nowMs(),
    );
    if (kept === undefined) return refusePrefix(id, body.at, entries);
    const deployment = deploymentFor(this.#ports, id, invocation, body.deployment ?? { kind: "keep" });
    const request = await this.#requestOf(body, journal, kept, deployment);
    const result = await this.#ports.sandboxes.sandbox.run(deployment, request, signal);
    return responseOf(id, body, deployment, result);
  }

  async #requestOf(
    body: SandboxBody,
    { invocation, entries, edits }: ForkedJournal,
    kept: readonly JournalEntry[],
    deployment: DeploymentView,
  ): Promise<SandboxRequest> {
    const { facts, pinned } = invocation;
    const { target } = facts;
    const { insight, sandboxes } = this.#ports;
    const holdsState = hasState(target);
    const partition = partitionOf(facts.id, insight.partitionCount);
    const handler = deployment.services.get(target.service)?.handlers.get(target.handler);
    return {
      facts,
      fork: { atEntry: body.at, editedSteps: edits.editedSteps },
      version: versionOf(pinned?.protocolVersion ?? Math.min(deployment.maxProtocolVersion, protocolVersionMax)),
      source: entries,
      kept,
      state: holdsState ? await sandboxes.stateOf(partition, keyspaceOf(target), target.key) : new Map(),
      sendsState: holdsState && handler?.enableLazyState !== true,
      stubs: (body.stubs ?? []).map(stubOf),
      keepSleeps: body.keep_sleeps === true,
      timeoutMs: timeoutOf(body.timeout ?? undefined),
    };
  }
}

function entryOf(entries: readonly JournalEntry[], index: number): JournalEntry {
  const entry = entries[index];
  invariant(entry !== undefined, "the index is one of the journal");
  return entry;
}

function versionOf(version: number): ProtocolVersion {
  if (isSupportedVersion(version)) return version;
  throw new RouteError(400, `The service protocol version ${version} is not spoken here.`);
}

function stubOf(stub: NonNullable<SandboxBody["stubs"]>[number]): SandboxStub {
  const { service, handler } = stub;
  return "failure" in stub
    ? { service, handler, result: { kind: "failure", failure: { ...stub.failure, metadata: [] } } }
    : { service, handler, result: { kind: "value", value: utf8(JSON.stringify(stub.value)) } };
}

function timeoutOf(text: string | undefined): number {
  const parsed = text === undefined ? undefined : parseDuration(text);
  return parsed?.ok === true ? parsed.ms : SANDBOX_MS_DEFAULT;
}

function responseOf(
  id: InvocationId,
  { at }: SandboxBody,
  deployment: DeploymentView,
  { outcome, entries, unsent, requestCount }: SandboxResult,
): SandboxResponse {
  return {
    sandbox: true,
    forked_from: id,
    forked_at_entry: at,
    deployment_id: deployment.id,
    outcome: outcomeView(outcome),
    requests: requestCount,
    steps: stepViews(readJournal(entries).steps),
    unsent: unsent.map(({ kind, target, answeredBy }) => ({ kind, target, answered_by: answeredBy ?? null })),
  };
}

function outcomeView(outcome: SandboxOutcome): SandboxResponse["outcome"] {
  switch (outcome.kind) {
    case "success":
      return { kind: "success", value: payloadViewOf(outcome.value), code: null, message: null, restate_code: null };
    case "failure":
      return failed(outcome.failure.code, outcome.failure.message, null);
    case "attemptFailed":
      return failed(outcome.error.code, outcome.error.message, outcome.error.errorCode);
    case "unanswered":
      return failed(
        UNANSWERED,
        `The handler requested what this sandbox cannot answer: ${outcome.what}. Give it a stub or a result.`,
        "RT0102",
      );
    case "tooLong":
      return failed(UNANSWERED, `The sandbox ended the fork: ${outcome.what}.`, "RT0102");
  }
}

const UNANSWERED = 500;

function failed(code: number, message: string, restateCode: string | null): SandboxResponse["outcome"] {
  return { kind: "failure", value: null, code, message, restate_code: restateCode };
}
