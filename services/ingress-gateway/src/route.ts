/**
 * The paths of the ingress, as ingress.md §2 lists them. A path is either refused or becomes a route in which everything that the path
 * alone decides is resolved: service, handler, key. Checks of §2 "Order of checks", 1 to 6.
 */
import type { HandlerView, RegistrySnapshot, ServiceView } from "@perdure/control";
import { overlapsSupportedVersions } from "@perdure/service-protocol";
import { pathSlashesMax, pathSlashesMin } from "./limits.js";
import { percentDecode, slashCount } from "./path.js";
import type { IngressRefusal } from "./refusal.js";
import * as refusal from "./refusal.js";

/** Call or send a handler. */
export interface InvokeRoute {
  readonly kind: "invoke";
  readonly wait: boolean;
  readonly handler: HandlerView;
  /** Decoded; undefined for plain services. */
  readonly key: string | undefined;
  /** Still encoded. */
  readonly scope: string | undefined;
}

/** The target of a result request. Ids are not parsed yet. */
export type ResultTarget =
  | { readonly kind: "id"; readonly text: string }
  | { readonly kind: "workflow"; readonly workflow: string; readonly key: string; readonly scope: string | undefined }
  | {
      readonly kind: "idempotent";
      readonly service: string;
      readonly key: string | undefined;
      readonly handler: string;
      readonly idempotencyKey: string;
      readonly scope: string | undefined;
    };

export type ResultVerb = "attach" | "output";

export type IngressRoute =
  | InvokeRoute
  | { readonly kind: "result"; readonly verb: ResultVerb; readonly target: ResultTarget }
  /** The target is in the body. */
  | { readonly kind: "resultByBody"; readonly verb: ResultVerb | "lookup" }
  | { readonly kind: "awakeable"; readonly id: string; readonly verb: "resolve" | "reject" }
  | { readonly kind: "health" };

/** `path` is the result of `parseRequestTarget`. */
export function routeOf(path: string, registry: RegistrySnapshot): IngressRoute | IngressRefusal {
  const slashes = slashCount(path);
  if (slashes < pathSlashesMin || slashes > pathSlashesMax) return refusal.badPath(path);
  const segments = path.split("/"); // The first segment is the empty text before the first slash.
  switch (segments[1]) {
    case "restate":
      return reserved(segments, registry);
    case "openapi":
      return refusal.notFound;
    default:
      return legacy(segments, registry);
  }
}

/** `/{Service}/{handler}[/send]`, `/{Object}/{key}/{handler}[/send]`. */
function legacy(segments: readonly string[], registry: RegistrySnapshot): IngressRoute | IngressRefusal {
  const service = registry.services.get(segments[1]!);
  if (service === undefined) return refusal.serviceNotFound(segments[1]!);
  const count = segments.length - (service.serviceType === "service" ? 3 : 4);
  if (count === 0) return invoke(service, segments, 1, true, undefined, registry);
  if (count === 1 && segments[segments.length - 1] === "send") return invoke(service, segments, 1, false, undefined, registry);
  return refusal.badServicePathOfType;
}

function reserved(segments: readonly string[], registry: RegistrySnapshot): IngressRoute | IngressRefusal {
  switch (segments[2]) {
    case "call":
      return explicit(segments, 3, true, undefined, registry);
    case "send":
      return explicit(segments, 3, false, undefined, registry);
    case "scope":
      if (segments[4] !== "call" && segments[4] !== "send") return refusal.badReservedPath;
      return explicit(segments, 5, segments[4] === "call", segments[3]!, registry);
    case "attach":
    case "output":
      if (segments.length === 3) return { kind: "resultByBody", verb: segments[2] };
      if (segments.length > 4) return refusal.badReservedPath;
      return { kind: "result", verb: segments[2], target: { kind: "id", text: segments[3]! } };
    case "lookup":
      return segments.length === 3 ? { kind: "resultByBody", verb: "lookup" } : refusal.badReservedPath;
    case "invocation":
      return invocation(segments, registry);
    case "workflow":
      return workflow(segments);
    case "awakeables":
    case "a":
      return awakeable(segments);
    case "health":
      return { kind: "health" };
    default:
      return refusal.notFound;
  }
}

/** `…/{Service}/{handler}` or `…/{Object}/{key}/{handler}` from segment `at` to the end. */
function explicit(
  segments: readonly string[],
  at: number,
  wait: boolean,
  scope: string | undefined,
  registry: RegistrySnapshot,
): IngressRoute | IngressRefusal {
  const name = segments[at];
  if (name === undefined) return refusal.badReservedPath;
  const service = registry.services.get(name);
  if (service === undefined) return refusal.serviceNotFound(name);
  if (segments.length - at !== (service.serviceType === "service" ? 2 : 3)) return refusal.badReservedPathOfType;
  return invoke(service, segments, at, wait, scope, registry);
}

/** The number of segments has been checked; the service's name is segment `at`. */
function invoke(
  service: ServiceView,
  segments: readonly string[],
  at: number,
  wait: boolean,
  scope: string | undefined,
  registry: RegistrySnapshot,
): IngressRoute | IngressRefusal {
  const keyed = service.serviceType !== "service";
  const key = keyed ? percentDecode(segments[at + 1]!) : undefined;
  if (keyed && key === undefined) return refusal.badKey;
  const name = segments[keyed ? at + 2 : at + 1]!;
  const handler = service.handlers.get(name);
  if (handler === undefined) return refusal.handlerNotFound(service.name, name);
  if (!handler.public) return refusal.notPublic;
  const deployment = registry.deployments.get(service.deploymentId);
  if (deployment !== undefined && !overlapsSupportedVersions(deployment.minProtocolVersion, deployment.maxProtocolVersion)) {
    return refusal.deploymentDeprecated(service.name, deployment.id);
  }
  return { kind: "invoke", wait, handler, key, scope };
}

/** `/restate/invocation/{id}/{verb}`, or a service's name, key, handler and idempotency key in place of the id. */
function invocation(segments: readonly string[], registry: RegistrySnapshot): IngressRoute | IngressRefusal {
  if (segments.length < 5) return refusal.badInvocationPath;
  const verb = segments[segments.length - 1]!;
  if (segments.length === 5) return resultRoute(verb, { kind: "id", text: segments[3]! });
  const service = registry.services.get(segments[3]!);
  if (service === undefined) return refusal.serviceNotFound(segments[3]!);
  const keyed = service.serviceType !== "service";
  if (segments.length !== (keyed ? 8 : 7)) return refusal.badInvocationPathOfType;
  const key = keyed ? percentDecode(segments[4]!) : undefined;
  if (keyed && key === undefined) return refusal.badKey;
  const at = keyed ? 5 : 4;
  return resultRoute(verb, {
    kind: "idempotent",
    service: service.name,
    key,
    handler: segments[at]!,
    idempotencyKey: segments[at + 1]!,
    scope: undefined,
  });
}

/** `/restate/workflow/{Workflow}/{key}/{verb}`; the workflow need not exist. */
function workflow(segments: readonly string[]): IngressRoute | IngressRefusal {
  if (segments.length !== 6) return refusal.badWorkflowPath;
  const key = percentDecode(segments[4]!);
  if (key === undefined) return refusal.badKey;
  return resultRoute(segments[5]!, { kind: "workflow", workflow: segments[3]!, key, scope: undefined });
}

function resultRoute(verb: string, target: ResultTarget): IngressRoute | IngressRefusal {
  return verb === "attach" || verb === "output" ? { kind: "result", verb, target } : refusal.notFound;
}

function awakeable(segments: readonly string[]): IngressRoute | IngressRefusal {
  if (segments.length !== 5) return refusal.badAwakeablePath;
  const verb = segments[4]!;
  return verb === "resolve" || verb === "reject" ? { kind: "awakeable", id: segments[3]!, verb } : refusal.notFound;
}
