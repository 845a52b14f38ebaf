/** Changes options of a service by hand, without new code; a change belongs to the latest revision and ends with it. */
import { NO_PACING } from "@perdure/base";
import type { ServiceDefinition } from "@perdure/manifest";
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
  checkRules(definition, changes);
  if (Object.values(changes).every((value) => value === undefined)) return { writes: [], answer: located };

  const revision = { ...located.revision, overrides: merge(overrides, changes) };
  const deployment = {
    ...stored.record,
    services: stored.record.services.map((service) => (service.definition.name === name ? revision : service)),
  };
  return { writes: [putDeployment(deployment, stored)], answer: { deployment, revision } };
}

/** The rules themselves were checked where the request was read. */
function checkRules({ name, handlers }: ServiceDefinition, { debounce, throttle }: ServiceOverrides): void {
  for (const handler of [...Object.keys(debounce ?? {}), ...Object.keys(throttle ?? {})]) {
    const kind = handlers.find((each) => each.name === handler)?.kind;
    if (kind === undefined) throw new RegistryRefusal(400, undefined, `the service '${name}' has no handler '${handler}'`);
    if (kind === "workflow") {
      const reason = `'${handler}' is the main handler of a workflow, which runs once for each key and cannot be debounced or throttled`;
      throw new RegistryRefusal(400, undefined, reason);
    }
  }
}

/** Throws `RegistryRefusal` 400 when a handler would have both rules. */
function mergedRules(old: ServiceOverrides, changes: ServiceOverrides): Pick<ServiceOverrides, "debounce" | "throttle"> {
  const debounce = mergeRules(old.debounce, changes.debounce);
  const throttle = mergeRules(old.throttle, changes.throttle);
  const twice = Object.keys(debounce ?? {}).find((handler) => throttle?.[handler] !== undefined);
  if (twice === undefined) return { debounce, throttle };
  throw new RegistryRefusal(
    400,
    undefined,
    `the handler '${twice}' cannot have a debounce and a throttle: set one of them to null`,
  );
}

function mergeRules(
  old: Readonly<Record<string, string>> | undefined,
  changes: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  const merged = Object.entries({ ...old, ...changes }).filter(([, rule]) => rule !== NO_PACING);
  return merged.length === 0 ? undefined : Object.fromEntries(merged);
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
    ...mergedRules(old, changes),
  };
}
