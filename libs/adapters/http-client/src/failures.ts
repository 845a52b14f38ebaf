/** Failures of a connection, in the kinds that the invoker and the registry branch on. */
import { DESTINATION_NOT_ALLOWED, EGRESS_DENIED_CODE } from "@perdure/egress";
import type { TransportFailure } from "@perdure/endpoint-transport";

/** The error codes of RFC 9113 §7, by number. */
const resetNames = [
  "NO_ERROR",
  "PROTOCOL_ERROR",
  "INTERNAL_ERROR",
  "FLOW_CONTROL_ERROR",
  "SETTINGS_TIMEOUT",
  "STREAM_CLOSED",
  "FRAME_SIZE_ERROR",
  "REFUSED_STREAM",
  "CANCEL",
  "COMPRESSION_ERROR",
  "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM",
  "INADEQUATE_SECURITY",
  "HTTP_1_1_REQUIRED",
];

export function resetFailure(rstCode: number): TransportFailure {
  return { kind: "reset", message: `the endpoint reset the stream: ${resetNames[rstCode] ?? `code ${rstCode}`}` };
}

/** The stream was not processed (RFC 9113 §8.7). */
export function unprocessedFailure(rstCode: number): TransportFailure {
  return { ...resetFailure(rstCode), kind: "refused" };
}

export function lostFailure(cause: unknown): TransportFailure {
  return { kind: "reset", message: `the connection was lost: ${errorText(cause)}` };
}

export function connectFailure(authority: string, cause: unknown): TransportFailure {
  if (errorCodeOf(cause) === EGRESS_DENIED_CODE) return deniedFailure();
  return { kind: "connect", message: `cannot connect to ${authority}: ${errorText(cause)}` };
}

/** Returns the failure of a refused destination without the reason, which would reveal internal addresses. */
export function deniedFailure(): TransportFailure {
  return { kind: "denied", message: DESTINATION_NOT_ALLOWED };
}

export function clientFailure(cause: unknown): TransportFailure {
  return { kind: "client", message: `the request cannot be made: ${errorText(cause)}` };
}

/** Fields of an error. Errors are recognised by their fields, not their class: they come from Node and from other packages. */
interface ErrorFields {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly errors?: unknown;
}

function fieldsOf(cause: unknown): ErrorFields {
  return typeof cause === "object" && cause !== null ? cause : {};
}

/** Code and text of a system or HTTP error, without a stack. */
export function errorText(cause: unknown): string {
  const { message, errors } = fieldsOf(cause);
  // Several addresses of one name failed: the first error is enough, the aggregate has no message.
  if (Array.isArray(errors) && errors.length > 0) return errorText(errors[0]);
  if (typeof message !== "string") return String(cause);
  const code = errorCodeOf(cause);
  return code === undefined || message.includes(code) ? message : `${message} (${code})`;
}

/** `code` of a Node error, e.g. ECONNREFUSED. */
export function errorCodeOf(cause: unknown): string | undefined {
  const { code } = fieldsOf(cause);
  return typeof code === "string" ? code : undefined;
}
