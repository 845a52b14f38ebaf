/** Paths that the gateway handles itself, and the route names of the access log: a few patterns, never a path of a tenant. */
import { present } from "@perdure/base";
import type { GatewayEndpoint } from "./environments.js";

/** Paths that the gateway treats specially at an endpoint; all others go to the runtime. */
type Special = "version" | "health" | "ui" | "internal" | "none";

export function specialOf(endpoint: GatewayEndpoint, path: string): Special {
  if (endpoint === "ingress") return path === "/restate/health" ? "health" : "none";
  if (path === "/version") return "version";
  if (path === "/ui" || path.startsWith("/ui/")) return "ui";
  // Compared as routers might read it: any case, any number of slashes, encoded characters.
  return INTERNAL.test(path) || ENCODED_START.test(path) ? "internal" : "none";
}

const INTERNAL = /^\/+internal(?:\/|$)/i;
const ENCODED_START = /^\/+[^/]*%/;
const QUERY = /^(?:\/v\d+)?\/query$/;

/** Statements may run for long, and their answers are streamed. */
export function isQuery(endpoint: GatewayEndpoint, path: string): boolean {
  return endpoint === "admin" && QUERY.test(path);
}

const ADMIN_LITERALS: ReadonlySet<string> = new Set([
  ...["version", "health", "query", "openapi", "cluster-health", "deployments", "services", "handlers", "invocations"],
  ...[
    "subscriptions",
    "schedules",
    "state",
    "verify",
    "explain",
    "timeline",
    "bundle",
    "batch",
    "cancel",
    "kill",
    "pause",
    "resume",
  ],
  ...[
    "restart-as-new",
    "crash-attempt",
    "fork",
    "fork-in-sandbox",
    "purge",
    "purge-journal",
    "journal",
    "rules",
    "backfill",
    "limits",
    "kafka-clusters",
    "metrics",
    "console-documents",
    "vqueues",
    "status",
    "skip",
  ],
]);
const RESTATE_LITERALS: ReadonlySet<string> = new Set([
  ...[
    "restate",
    "health",
    "awakeables",
    "a",
    "resolve",
    "reject",
    "invocation",
    "workflow",
    "attach",
    "output",
    "call",
    "send",
    "scope",
  ],
]);
const SEGMENTS_MAX = 8;

/** E.g. `/deployments/{}`, `/restate/awakeables/{}/resolve`, `/{}/{}/send`: fixed segments stay, names of tenants are replaced. */
export function routeTemplate(endpoint: GatewayEndpoint, path: string): string {
  const segments = path.split("/", SEGMENTS_MAX + 2);
  if (segments.length > SEGMENTS_MAX + 1) return "/…";
  const literals = endpoint === "admin" ? ADMIN_LITERALS : segments[1] === "restate" ? RESTATE_LITERALS : undefined;
  let template = "";
  for (let i = 1; i < segments.length; i++) {
    const segment = present(segments[i]);
    const isOurs = literals?.has(segment) === true || (endpoint === "admin" && i === 1 && /^v\d$/.test(segment));
    const isSend = literals === undefined && i === segments.length - 1 && i > 2 && segment === "send";
    template += isOurs || isSend ? `/${segment}` : "/{}";
  }
  return template;
}
