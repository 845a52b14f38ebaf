import type { AdminOperation } from "../operation.js";
import { ClusterHealthShape, ConsoleDocumentShape, RowsShape, UsageShape, VersionShape } from "./responses.js";

export const getHealth = { method: "GET", path: "/health" } as const satisfies AdminOperation;

export const getVersion = { method: "GET", path: "/version", results: { 200: VersionShape } } as const satisfies AdminOperation;

export const getLiveness = { method: "GET", path: "/livez" } as const satisfies AdminOperation;

export const getReadiness = { method: "GET", path: "/readyz" } as const satisfies AdminOperation;

export const getClusterHealth = {
  method: "GET",
  path: "/cluster-health",
  results: { 200: ClusterHealthShape },
} as const satisfies AdminOperation;

/** JSON when `accept` is exactly that, an Arrow stream otherwise. */
export const runQuery = { method: "POST", path: "/query", results: { 200: RowsShape } } as const satisfies AdminOperation;

/** Reads the usage of an environment; for the operator of the platform. */
export const getUsage = {
  method: "GET",
  path: "/internal/usage",
  results: { 200: UsageShape },
} as const satisfies AdminOperation;

/** Texts that the console keeps for all users of an environment: `views`, `attention`. */
export const getConsoleDocument = {
  method: "GET",
  path: "/console-documents/{document}",
  results: { 200: ConsoleDocumentShape },
} as const satisfies AdminOperation;

export const putConsoleDocument = {
  method: "PUT",
  path: "/console-documents/{document}",
  results: { 200: ConsoleDocumentShape },
} as const satisfies AdminOperation;

/** Text in the Prometheus exposition format. */
export const getMetrics = { method: "GET", path: "/metrics" } as const satisfies AdminOperation;

/** The whole API as an OpenAPI document. */
export const getDocument = { method: "GET", path: "/openapi" } as const satisfies AdminOperation;
