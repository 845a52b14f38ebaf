/**
 * Changes by registering, updating and removing a deployment, and their refusals. Pure decisions over the state; discovery happened
 * before. Rules: interface specification §9 with its errors META0004, 0006, 0016 and 0017.
 */
import type { DeploymentId } from "@perdure/base";
import { describeConflict, dissimilarities, revisionConflicts, type ServiceDefinition, sameServices } from "@perdure/manifest";
import {
  type DeploymentRecord,
  type DeploymentUsage,
  type RegisterOutcome,
  type RegisterRequest,
  RegistryRefusal,
  type ServiceOverrides,
  type ServiceRevision,
  type UpdateRequest,
  type Verification,
} from "@perdure/metadata";
import { addressText, identityOf, type Sameness } from "./address.js";
import type { Discovered } from "./discover.js";
import { DEPLOYMENTS_MAX } from "./limits.js";
import { deleteDeployment, putDeployment } from "./persistence.js";
import { nextRevision, type RegistryState, type StateChange, type Versioned } from "./state.js";

/** Input of a decision besides state and request. */
interface DecisionContext {
  readonly nowMs: number;
  /** Id of a new deployment. */
  readonly freshId: DeploymentId;
  readonly sameness: Sameness;
}

const NO_OVERRIDES: ServiceOverrides = {
  public: undefined,
  idempotencyRetentionMs: undefined,
  workflowCompletionRetentionMs: undefined,
  journalRetentionMs: undefined,
  inactivityTimeoutMs: undefined,
  abortTimeoutMs: undefined,
  stateTtlMs: undefined,
};

/** Overrides of a new revision. */
function keptOverrides(state: RegistryState, { name, kind, handlers }: ServiceDefinition): ServiceOverrides {
  const old = state.latest.get(name)?.revision.overrides;
  if (old === undefined) return NO_OVERRIDES;
  return {
    ...NO_OVERRIDES,
    stateTtlMs: kind === "virtualObject" ? old.stateTtlMs : undefined,
    debounce: keptRules(old.debounce, handlers),
    throttle: keptRules(old.throttle, handlers),
  };
}

/** Rules of handlers that the new revision has too. */
function keptRules(
  rules: Readonly<Record<string, string>> | undefined,
  handlers: ServiceDefinition["handlers"],
): Readonly<Record<string, string>> | undefined {
  const kept = Object.entries(rules ?? {}).filter(([name]) =>
    handlers.some((handler) => handler.name === name && handler.kind !== "workflow"),
  );
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Created, replaced (force) or unchanged; throws `RegistryRefusal` META0004, META0006 or META0017. */
export function decideRegistration(
  state: RegistryState,
  request: RegisterRequest,
  discovered: Discovered,
  context: DecisionContext,
): StateChange<RegisterOutcome> {
  const identity = identityOf(discovered.address, request.additionalHeaders, context.sameness);
  const existing = deploymentsAt(state, identity, context.sameness);
  if (existing.length > 0 && !request.force) return keepOrRefuse(existing, request, discovered);
  if (existing.length > 1) {
    throw new RegistryRefusal(
      409,
      "META0017",
      `the destination '${addressText(discovered.address)}' is used by ${existing.length} deployments ` +
        `(${existing.map(({ record }) => record.id).join(", ")}), so it is not clear which one to replace. Delete all but one of them first.`,
    );
  }
  if (!request.force && !request.breaking) refuseConflicts(state, discovered.manifest.services);

  const [replaced] = existing;
  if (replaced === undefined && state.deployments.size >= DEPLOYMENTS_MAX) {
    throw new RegistryRefusal(409, undefined, `there are already ${DEPLOYMENTS_MAX} deployments; delete some that are drained`);
  }
  const deployment: DeploymentRecord = {
    id: replaced?.record.id ?? context.freshId,
    address: discovered.address,
    additionalHeaders: request.additionalHeaders,
    metadata: request.metadata,
    createdAtMs: context.nowMs,
    protocolType: discovered.manifest.protocolMode,
    minProtocolVersion: discovered.manifest.minProtocolVersion,
    maxProtocolVersion: discovered.manifest.maxProtocolVersion,
    sdkVersion: discovered.sdkVersion,
    services: discovered.manifest.services.map((definition) => ({
      definition,
      revision: nextRevision(state, definition.name),
      overrides: keptOverrides(state, definition),
    })),
    verification: request.verification,
  };
  return {
    writes: request.dryRun ? [] : [putDeployment(deployment, replaced)],
    answer: { kind: replaced === undefined ? "created" : "replaced", deployment },
  };
}

/** The deployment with its new address and, on request, its new services; throws `RegistryRefusal` 404, META0016 or META0006. */
export function decideUpdate(
  state: RegistryState,
  id: DeploymentId,
  request: UpdateRequest,
  discovered: Discovered,
): StateChange<DeploymentRecord> {
  const stored = requireDeployment(state, id);
  const old = stored.record;
  const broken = dissimilarities(shapeOf(old), discovered.manifest);
  if (broken.length > 0) {
    throw new RegistryRefusal(400, "META0016", `the deployment '${id}' cannot be updated in place: ${broken.join("; ")}.`);
  }
  const deployment: DeploymentRecord = {
    ...old,
    address: discovered.address,
    additionalHeaders: request.additionalHeaders ?? old.additionalHeaders,
    protocolType: discovered.manifest.protocolMode,
    sdkVersion: discovered.sdkVersion,
    services: request.overwrite ? overwritten(state, old, discovered.manifest.services) : old.services,
    verification: undefined, // Other code may run there now.
  };
  return { writes: request.dryRun ? [] : [putDeployment(deployment, stored)], answer: deployment };
}

/** Removes the deployment; `usage` is `undefined` when removal is forced. Throws `RegistryRefusal` 404, or 409 with the counts. */
export function decideRemoval(
  state: RegistryState,
  id: DeploymentId,
  usage: DeploymentUsage | undefined,
  sameness: Sameness,
): StateChange<undefined> {
  const stored = state.deployments.get(id);
  if (stored === undefined) {
    throw new RegistryRefusal(404, undefined, `not found in the schema registry: deployment with id '${id}'`);
  }
  if (usage !== undefined) {
    const needs = needsFor(state, stored.record, usage, sameness);
    if (needs.length > 0) {
      throw new RegistryRefusal(
        409,
        undefined,
        `the deployment '${id}' is still needed: ${needs.join("; ")}. Wait until they are finished, or use the 'force' flag.`,
      );
    }
  }
  return { writes: [deleteDeployment(stored)], answer: undefined };
}

/** `checked` with the findings of a check, unless it was replaced since; throws `RegistryRefusal` 404 when it was removed. */
export function decideVerification(
  state: RegistryState,
  checked: DeploymentRecord,
  verification: Verification,
): StateChange<DeploymentRecord> {
  const stored = requireDeployment(state, checked.id);
  if (stored.record.createdAtMs !== checked.createdAtMs) return { writes: [], answer: stored.record };
  return verified(stored, verification);
}

function verified(stored: Versioned<DeploymentRecord>, verification: Verification): StateChange<DeploymentRecord> {
  const deployment: DeploymentRecord = { ...stored.record, verification };
  return { writes: [putDeployment(deployment, stored)], answer: deployment };
}

export function requireDeployment(state: RegistryState, id: DeploymentId): Versioned<DeploymentRecord> {
  const stored = state.deployments.get(id);
  if (stored === undefined) throw new RegistryRefusal(404, undefined, `The requested deployment '${id}' does not exist`);
  return stored;
}

function keepOrRefuse(
  existing: readonly Versioned<DeploymentRecord>[],
  request: RegisterRequest,
  discovered: Discovered,
): StateChange<RegisterOutcome> {
  const same = request.acceptUnchanged ? existing.find(({ record }) => isUnchanged(record, discovered)) : undefined;
  if (same !== undefined) {
    const { verification, dryRun } = request;
    if (verification === undefined) return { writes: [], answer: { kind: "unchanged", deployment: same.record } };
    const { writes, answer: deployment } = verified(same, verification);
    return { writes: dryRun ? [] : writes, answer: { kind: "unchanged", deployment } };
  }
  throw new RegistryRefusal(
    409,
    "META0004",
    `the destination '${addressText(discovered.address)}' is already registered as deployment ${existing[0]?.record.id}` +
      `${request.acceptUnchanged ? ", and what it serves has changed" : ""}. Deployments are immutable: ` +
      "use a new destination for new code, or set 'force' to replace the deployment.",
  );
}

function isUnchanged(record: DeploymentRecord, { manifest, address }: Discovered): boolean {
  return (
    record.protocolType === manifest.protocolMode &&
    record.minProtocolVersion === manifest.minProtocolVersion &&
    record.maxProtocolVersion === manifest.maxProtocolVersion &&
    (address.kind !== "http" || record.address.kind !== "http" || address.httpVersion === record.address.httpVersion) &&
    sameServices(shapeOf(record).services, manifest.services)
  );
}

function refuseConflicts(state: RegistryState, services: readonly ServiceDefinition[]): void {
  const conflicts = services.flatMap((next) => {
    const previous = state.latest.get(next.name)?.revision.definition;
    return previous === undefined ? [] : revisionConflicts(previous, next);
  });
  if (conflicts.length > 0) throw new RegistryRefusal(409, "META0006", conflicts.map(describeConflict).join(" "));
}

/** Existing services keep their revision number, new ones are registered as usual; of the changes by hand the time to live of state is kept. */
function overwritten(
  state: RegistryState,
  old: DeploymentRecord,
  services: readonly ServiceDefinition[],
): readonly ServiceRevision[] {
  const revisions = new Map(old.services.map((service) => [service.definition.name, service.revision]));
  refuseConflicts(
    state,
    services.filter((service) => !revisions.has(service.name)),
  );
  return services.map((definition) => ({
    definition,
    revision: revisions.get(definition.name) ?? nextRevision(state, definition.name),
    overrides: keptOverrides(state, definition),
  }));
}

function needsFor(
  state: RegistryState,
  deployment: DeploymentRecord,
  usage: DeploymentUsage,
  sameness: Sameness,
): readonly string[] {
  const needs: string[] = [];
  if (usage.pinned > 0) needs.push(`${usage.pinned} unfinished invocation(s) are pinned to it`);
  const identity = identityOf(deployment.address, deployment.additionalHeaders, sameness);
  const twins = new Set(deploymentsAt(state, identity, sameness).map(({ record }) => record.id));
  for (const { definition, revision } of deployment.services) {
    const unfinished = usage.unfinishedByService.get(definition.name) ?? 0;
    if (unfinished === 0) continue;
    const isServedElsewhere = [...state.deployments.values()].some(
      ({ record }) =>
        record.id !== deployment.id &&
        record.services.some(
          (other) => other.definition.name === definition.name && (other.revision > revision || twins.has(record.id)),
        ),
    );
    if (!isServedElsewhere) {
      needs.push(`the service '${definition.name}' has ${unfinished} unfinished invocation(s) and no newer revision elsewhere`);
    }
  }
  return needs;
}

function deploymentsAt(state: RegistryState, identity: string, sameness: Sameness): readonly Versioned<DeploymentRecord>[] {
  return [...state.deployments.values()].filter(
    ({ record }) => identityOf(record.address, record.additionalHeaders, sameness) === identity,
  );
}

function shapeOf(record: DeploymentRecord) {
  return {
    minProtocolVersion: record.minProtocolVersion,
    maxProtocolVersion: record.maxProtocolVersion,
    services: record.services.map((service) => service.definition),
  };
}
