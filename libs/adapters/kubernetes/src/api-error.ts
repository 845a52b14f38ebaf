/** Parses error responses of the API server, on which the next step of a controller depends (kubernetes.md §3.3). */
import type { V1Status } from "@kubernetes/client-node";

/** An answer that is not the one hoped for. Transport failures are not these: they come as what the transport throws. */
export class KubernetesApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** Reason in the API server's `Status`: `NotFound`, `AlreadyExists`, `Conflict`, `Invalid`, `Expired` … */
  readonly reason: string;
  /** The failed request: `PATCH statefulsets`. */
  readonly operation: string;
  readonly retryAfterMs: number | undefined;
  /** Fields and managers that a conflict or a refusal is about. */
  readonly causes: readonly string[];

  constructor(operation: string, status: number, body: string, retryAfter?: string) {
    const parsed = parseStatus(body);
    super(`${operation}: ${status} ${parsed.message ?? body.slice(0, 500)}`);
    this.status = status;
    this.reason = parsed.reason ?? "";
    this.operation = operation;
    const seconds = parsed.details?.retryAfterSeconds ?? Number(retryAfter ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
    this.causes = (parsed.details?.causes ?? []).map(({ field, message }) => `${field ?? ""}: ${message ?? ""}`);
  }
}

/** Bodies are objects of kind Status, except those of proxies in between. */
function parseStatus(body: string): V1Status {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

const hasStatus = (cause: unknown, status: number): cause is KubernetesApiError =>
  cause instanceof KubernetesApiError && cause.status === status;

export const isNotFound = (cause: unknown): cause is KubernetesApiError => hasStatus(cause, 404);
/** Another writer was faster, the object exists already, or another manager owns the field. */
export const isConflict = (cause: unknown): cause is KubernetesApiError => hasStatus(cause, 409);
export const isAlreadyThere = (cause: unknown): cause is KubernetesApiError =>
  hasStatus(cause, 409) && cause.reason === "AlreadyExists";
/** The resource version is too old for a watch: list again. */
export const isExpired = (cause: unknown): cause is KubernetesApiError => hasStatus(cause, 410);
export const isInvalid = (cause: unknown): cause is KubernetesApiError => hasStatus(cause, 422) || hasStatus(cause, 400);
export const isForbidden = (cause: unknown): cause is KubernetesApiError => hasStatus(cause, 403);
export const isUnauthorized = (cause: unknown): cause is KubernetesApiError => hasStatus(cause, 401);
