/**
 * Refusals of the ingress as data, until one place writes them. Texts are part of the wire contract (ingress.md §10): clients print them
 * and tests compare them. Codes are for logs and metrics only.
 */
import { catalogue, type ErrorCode, formatDuration, type ThrottleRule, unreachable } from "@perdure/base";
import type { BodyFailure } from "@perdure/http-server";
import type { Throttled } from "@perdure/state-machine";

export interface IngressRefusal {
  readonly kind: "refused";
  readonly code: ErrorCode;
  /** Status and `code` of the body. */
  readonly status: number;
  readonly message: string;
  /** A newer state of the registry may have a route for the request. */
  readonly isOfRegistry?: true;
}

function refuse(code: ErrorCode, message: string, status: number = catalogue[code].http): IngressRefusal {
  return { kind: "refused", code, status, message };
}

export const methodNotAllowed = refuse("ING0008", "method not allowed");
export const notFound = refuse("ING0002", "not found");
export const invocationNotFound = refuse("ING0002", "invocation not found");
/** Not an error of this ingress, but 470 responses have the shape of one. */
export const notReady = refuse("ING0002", "the invocation exists but has not completed yet", 470);
export const overloaded = refuse("ING0005", "too many requests, the ingress is overloaded. Retry later.");
export const headersTooMany = refuse("ING0003", "too many header fields", 431);
const bodyTooLarge = refuse("ING0004", "cannot read body: LengthLimitError");
/** The reference responds to the first three reasons with plain text; README of the specification, no. 10, requires a proper error. */
export function announcedTooLarge(bytes: number, bytesMax: number): IngressRefusal {
  const limit = `the request body has ${bytes} bytes, and ingress.request-size-limit allows ${bytesMax}`;
  return refuse("ING0004", `length limit exceeded: ${limit}`);
}
const bodyTooSlow = refuse("ING0009", "cannot read body: it did not arrive in time", 408);
export const notPublic = ofRegistry(refuse("ING0007", "the invoked service is not public"));
export const internalError = refuse("OPS0003", "internal error");

const badServicePath = refuse(
  "ING0001",
  "bad path, expected either /:service-name/:handler or /:object-name/:object-key/:handler",
);
export const badReservedPath = refuse(
  "ING0001",
  "bad path, expected /restate/call/:service/:handler, /restate/send/:service/:handler, /restate/scope/:scope/call/:service/:handler, /restate/attach/:invocation_id, /restate/output/:invocation_id, or /restate/lookup",
);
export const badInvocationPath = refuse(
  "ING0001",
  "bad path, expected either /restate/invocation/:invocation_id/output or /restate/invocation/:invocation_id/attach or /restate/invocation/:invocation_target/:idempotency_key/output or /restate/invocation/:invocation_target/:idempotency_key/attach",
);
export const badWorkflowPath = refuse(
  "ING0001",
  "bad path, expected either /restate/workflow/:workflow_name/:workflow_key/output or /restate/workflow/:workflow_name/:workflow_key/attach",
);
export const badAwakeablePath = refuse(
  "ING0001",
  "bad path, expected either /restate/awakeables/:id/resolve or /restate/awakeables/:id/reject",
);
export const badKey = refuse("ING0001", "bad path, cannot decode key: the decoded bytes are not UTF-8");

export const idempotentWorkflow = refuse(
  "ING0003",
  "cannot use the idempotency key with workflow handlers. The handler invocation will already be idempotent by the workflow key itself.",
);
export const delayedCall = refuse(
  "ING0003",
  "cannot use the delay query parameter with calls. The delay is supported only with sends",
);
export const debouncedWorkflow = refuse(
  "ING0010",
  "cannot use the header x-restate-debounce with workflow handlers. A workflow runs once for each key, with the first input.",
);
export const delayedDebounce = refuse(
  "ING0010",
  "cannot use the delay query parameter with the header x-restate-debounce, which has a delay itself",
);
export const debouncedThrottle = refuse(
  "ING0011",
  "cannot use the headers x-restate-throttle and x-restate-debounce together. A debounced burst is one invocation already.",
);
export const throttledWorkflow = refuse(
  "ING0011",
  "cannot use the header x-restate-throttle with workflow handlers. A workflow runs once for each key.",
);
export const scopesDisabled = refuse("ING0003", "scoped invocations require vqueues to be enabled");
export const scopedObject = refuse("ING0003", "scope is not supported for Virtual Object targets");
export const badPriority = refuse("ING0003", "invalid priority: expected a whole number from 1 (first) to 5 (last)");
export const priorityWithoutScope = refuse("ING0003", "priority requires a scope to be set");
export const limitKeyWithoutScope = refuse("ING0003", "limit-key requires a scope to be set");

/** The same path and texts, but caused by the present type of the service. */
export const badServicePathOfType = ofRegistry(badServicePath);
export const badReservedPathOfType = ofRegistry(badReservedPath);
export const badInvocationPathOfType = ofRegistry(badInvocationPath);

function ofRegistry(refused: IngressRefusal): IngressRefusal {
  return { ...refused, isOfRegistry: true };
}

export function badPath(path: string): IngressRefusal {
  return refuse("ING0001", `bad path: ${path}`);
}
export function serviceNotFound(service: string): IngressRefusal {
  return ofRegistry(refuse("ING0002", `service '${service}' not found, make sure to register the service before calling it.`));
}
export function handlerNotFound(service: string, handler: string): IngressRefusal {
  return ofRegistry(
    refuse(
      "ING0002",
      `the service '${service}' exists, but the handler '${handler}' was not found, check that the handler exists in the latest registered service version.`,
    ),
  );
}
export function deploymentDeprecated(service: string, deploymentId: string): IngressRefusal {
  return ofRegistry(
    refuse(
      "RT0020",
      `the service ${service} is exposed by the deprecated deployment ${deploymentId}. Upgrade the SDK used by ${service}.`,
    ),
  );
}
export function badHeader(name: string): IngressRefusal {
  return refuse("ING0003", `bad header ${name}: ToStrError { _priv: () }`);
}
export function badInput(reason: string): IngressRefusal {
  return refuse("ING0003", `input validation error: ${reason}`);
}
export function badDelay(reason: string): IngressRefusal {
  return refuse("ING0003", `bad delay query parameter, must be a ISO8601 duration: ${reason}`);
}
export function badDebounce(reason: string): IngressRefusal {
  return refuse(
    "ING0010",
    `bad header x-restate-debounce: ${reason}. Expected a duration, and perhaps max and key: 5s;max=1m;key=customer-7`,
  );
}
export function badThrottle(reason: string): IngressRefusal {
  return refuse(
    "ING0011",
    `bad header x-restate-throttle: ${reason}. Expected a duration, and perhaps limit, key and over: 1m;limit=3;key=customer-7;over=join`,
  );
}
/** `newestId` is in the response too. */
export function throttled({ newestId, admittedCount }: Throttled, { periodMs }: ThrottleRule): IngressRefusal {
  const count = admittedCount === 1 ? "1 invocation has" : `${admittedCount} invocations have`;
  return refuse(
    "RT0103",
    `throttled: ${count} begun in this period of ${formatDuration(periodMs)}, and the throttle allows no more. The newest is ${newestId}. Nothing was stored; retry after the period.`,
  );
}
export const throttleKeysFull = refuse(
  "RT0104",
  "throttled: the partition stores as many throttle keys as worker.throttle-keys-limit allows. Nothing was stored; retry later, or use fewer keys or a shorter period.",
);
export function badScope(reason: string): IngressRefusal {
  return refuse("ING0003", `bad scope value: ${reason}`);
}
export function badLimitKey(reason: string): IngressRefusal {
  return refuse("ING0003", `invalid limit-key: ${reason}`);
}
export function badInvocationId(id: string, problem: string): IngressRefusal {
  return refuse("ING0003", `bad invocation id '${id}': ${problem}`);
}
export function badAwakeableId(id: string, problem: string): IngressRefusal {
  return refuse("ING0003", `bad awakeable id '${id}': ${problem}`);
}
export function unreadableBody(reason: string): IngressRefusal {
  return refuse("ING0009", `cannot read body: ${reason}`);
}

/** The partition did not respond; what the caller may do next depends on the request. */
export function unavailable(reason: string, advice: RefusalAdvice): IngressRefusal {
  return refuse("ING0006", `internal routing error: ${reason}. ${ADVICE[advice]}`);
}

export type RefusalAdvice = "invoke" | "read" | "complete";

const ADVICE: Readonly<Record<RefusalAdvice, string>> = {
  invoke:
    "If the request has an 'idempotency-key', it can be safely retried, otherwise submitting it again may result in executing the invocation twice.",
  read: "You may safely retry the request.",
  complete: "Submitting the request again may result in executing the operation twice.",
};

export function bodyRefusal(cause: BodyFailure): IngressRefusal {
  switch (cause) {
    case "tooLarge":
      return bodyTooLarge;
    case "tooSlow":
      return bodyTooSlow;
    case "overBudget":
      return overloaded;
    default:
      return unreachable(cause);
  }
}
