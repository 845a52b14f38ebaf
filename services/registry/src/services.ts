/** Changes options of a service by hand, without new code; a change belongs to the latest revision and ends with it. */
import { type LocatedRevision, RegistryRefusal, type ServiceOverrides } from "@perdure/metadata";
import { putDeployment } from "./persistence.js";
import type { RegistryState, StateChange } from "./state.js";

const KIND_NAMES = { service: "Service", virtualObject: "VirtualObject", workflow: "Workflow" } as const;

/** Throws `RegistryRefusal` 404 for an unknown service, 400 for an option of another type of service. */
export function decideModification(state: RegistryState, name: string, changes: ServiceOverrides): StateChange<LocatedRevision> {
  const located = state.latest.get(name);
  const stored = located === undefined ? undefined : state.deployments.get(located.deployment.id);
  if (located === undefined || stored === undefined) {
    throw new RegistryRefusal(404, undefined, `not found in the schema registry: service with name '${name}'`);
  }
  const { definition, overrides } = located.revision;
  if (changes.workflowCompletionRetentionMs !== undefined && definition.kind !== "workflow") {
    const kind = KIND_NAMES[definition.kind];
    throw new RegistryRefusal(400, undefined, `modifying retention time for service type ${kind} is unsupported`);
  }
  if (changes.stateTtlMs !== undefined && definition.kind !== "virtualObject") {
    const kind = KIND_NAMES[definition.kind];
    throw new RegistryRefusal(
      400,
      undefined,
      `state with a time to live is for virtual objects only, not for service type ${kind}`,
    );
  }
  if (Object.values(changes).every((value) => value === undefined)) return { writes: [], answer: located };

  const revision = { ...located.revision, overrides: merge(overrides, changes) };
  const deployment = {
    ...stored.record,
    services: stored.record.services.map((service) => (service.definition.name === name ? revision : service)),
  };
  return { writes: [putDeployment(deployment, stored)], answer: { deployment, revision } };
}

function merge(old: ServiceOverrides, changes: ServiceOverrides): ServiceOverrides {
  return {
    public: changes.public ?? old.public,
    idempotencyRetentionMs: changes.idempotencyRetentionMs ?? old.idempotencyRetentionMs,
    workflowCompletionRetentionMs: changes.workflowCompletionRetentionMs ?? old.workflowCompletionRetentionMs,
    journalRetentionMs: changes.journalRetentionMs ?? old.journalRetentionMs,
    inactivityTimeoutMs: changes.inactivityTimeoutMs ?? old.inactivityTimeoutMs,
    abortTimeoutMs: changes.abortTimeoutMs ?? old.abortTimeoutMs,
    stateTtlMs: changes.stateTtlMs ?? old.stateTtlMs,
  };
}
