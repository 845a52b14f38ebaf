/** What differs between two deployments: services, handlers, their schemas and their options. Pure. */
import type { DeploymentDetail, DeploymentSummary, HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { type DiffLine, lineDiff } from "../../kit/line-diff.js";

export interface ServiceComparison {
  readonly service: string;
  readonly change: "added" | "removed" | "changed" | "equal";
  /** `2 → 3`, or the only revision. */
  readonly revisions: string;
  /** Names of handlers. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** Between the services as JSON, with all options and schemas. */
  readonly lines: readonly DiffLine[];
}

/** Services of either deployment, by name. */
export function comparisonOf(before: DeploymentDetail, after: DeploymentDetail): readonly ServiceComparison[] {
  const [old, now] = [before, after].map(({ services }) => new Map(services.map((service) => [service.name, service])));
  const names = [...new Set([...(old?.keys() ?? []), ...(now?.keys() ?? [])])].sort();
  return names.map((name) => serviceComparison(name, old?.get(name), now?.get(name)));
}

function serviceComparison(service: string, old?: ServiceMetadata, now?: ServiceMetadata): ServiceComparison {
  const [before, after] = [handlersOf(old), handlersOf(now)];
  const lines = lineDiff(old === undefined ? "" : serviceText(old), now === undefined ? "" : serviceText(now));
  const change = old === undefined ? "added" : now === undefined ? "removed" : lines.length === 0 ? "equal" : "changed";
  return {
    service,
    change,
    revisions: [...new Set([old, now].flatMap((each) => (each === undefined ? [] : [each.revision])))].join(" → "),
    added: [...after.keys()].filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: [...after].filter(([name, text]) => before.has(name) && before.get(name) !== text).map(([name]) => name),
    lines,
  };
}

function handlersOf(service: ServiceMetadata | undefined): ReadonlyMap<string, string> {
  return new Map((service?.handlers ?? []).map((handler) => [handler.name, handlerText(handler)]));
}

const handlerText = (handler: HandlerMetadata): string => JSON.stringify(sorted(handler));

/** Without what differs between any two revisions; handlers by name, because their order has no meaning. */
function serviceText({ deployment_id: _id, revision: _revision, info: _info, handlers, ...rest }: ServiceMetadata): string {
  const byName = Object.fromEntries(handlers.map(({ name, ...handler }) => [name, handler]));
  return JSON.stringify(sorted({ ...rest, handlers: byName }), undefined, 2);
}

/** The same value with the fields of its objects in one order: that of a schema differs between two versions of an SDK. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, field]): [string, unknown] => [name, sorted(field)]);
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Other deployments that serve one of its services, newest first. */
export function comparableWith(
  { id, services }: Pick<DeploymentDetail, "id" | "services">,
  all: readonly DeploymentSummary[],
): readonly DeploymentSummary[] {
  const names = new Set(services.map(({ name }) => name));
  return all
    .filter((other) => other.id !== id && other.services.some(({ name }) => names.has(name)))
    .sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
}
