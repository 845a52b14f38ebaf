/**
 * Compares revisions of services. Callers and stored invocations depend on the revision they were created with; these functions return
 * what a new revision would break, and the caller decides whether to allow it.
 */
import type { Manifest, ServiceDefinition, ServiceKind } from "./definition.js";

/** One incompatibility of a newer revision of a service. */
type RevisionConflict =
  | { readonly kind: "typeChanged"; readonly service: string; readonly from: ServiceKind; readonly to: ServiceKind }
  | { readonly kind: "handlersRemoved"; readonly service: string; readonly handlers: readonly string[] };

/** Rules of META0006: the type stays, and so do all handlers of the previous revision. */
export function revisionConflicts(previous: ServiceDefinition, next: ServiceDefinition): readonly RevisionConflict[] {
  const conflicts: RevisionConflict[] = [];
  if (previous.kind !== next.kind) {
    conflicts.push({ kind: "typeChanged", service: next.name, from: previous.kind, to: next.kind });
  }
  const kept = new Set(next.handlers.map((handler) => handler.name));
  const removed = previous.handlers.map((handler) => handler.name).filter((name) => !kept.has(name));
  if (removed.length > 0) conflicts.push({ kind: "handlersRemoved", service: next.name, handlers: removed });
  return conflicts;
}

/** One clause for error messages, with the names of service and handlers. */
export function describeConflict(conflict: RevisionConflict): string {
  if (conflict.kind === "typeChanged") {
    return (
      `detected a new service revision for '${conflict.service}' changing the service type from previous revision. ` +
      "Service type cannot be changed across revisions."
    );
  }
  const names = conflict.handlers.map((name) => `'${name}'`).join(", ");
  return (
    `detected a new service revision for '${conflict.service}' without the handlers ${names} of the previous revision. ` +
    "Handlers cannot be removed across revisions."
  );
}

/** The fields that an update in place compares. */
type DeploymentShape = Pick<Manifest, "minProtocolVersion" | "maxProtocolVersion" | "services">;

/** Rules of META0016 that a new shape breaks, as clauses for error messages; empty when it is similar enough. */
export function dissimilarities(old: DeploymentShape, next: DeploymentShape): readonly string[] {
  const broken: string[] = [];
  if (old.minProtocolVersion !== next.minProtocolVersion || old.maxProtocolVersion !== next.maxProtocolVersion) {
    broken.push(
      `the supported service protocol versions must stay exactly [${old.minProtocolVersion}, ${old.maxProtocolVersion}], ` +
        `but they would be [${next.minProtocolVersion}, ${next.maxProtocolVersion}]`,
    );
  }
  const offered = new Map(next.services.map((service) => [service.name, service]));
  for (const service of old.services) {
    const successor = offered.get(service.name);
    if (successor === undefined) {
      broken.push(`the service '${service.name}' must stay, but it would vanish`);
      continue;
    }
    for (const conflict of revisionConflicts(service, successor)) {
      broken.push(
        conflict.kind === "typeChanged"
          ? `the type of service '${service.name}' must stay ${conflict.from}, but it would become ${conflict.to}`
          : `the service '${service.name}' must keep its handlers, but these would vanish: ${conflict.handlers.join(", ")}`,
      );
    }
  }
  return broken;
}

/** Whether two lists of services are equal, in any order of services, handlers and keys. */
export function sameServices(a: readonly ServiceDefinition[], b: readonly ServiceDefinition[]): boolean {
  return canonicalServices(a) === canonicalServices(b);
}

function canonicalServices(services: readonly ServiceDefinition[]): string {
  const sorted = services.map((service) => ({ ...service, handlers: [...service.handlers].sort(byName) })).sort(byName);
  return JSON.stringify(sorted, sortKeys);
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
