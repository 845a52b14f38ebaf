/**
 * Errors between processes: a gRPC status, and in its details a google.rpc.Status with the code of the error catalogue in ErrorInfo
 * (https://google.aip.dev/193).
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";
import { PerdureError } from "@perdure/base";
import { isErrorCode } from "@perdure/base/errors";
import { RegistryRefusal } from "@perdure/metadata";
import { ErrorInfoSchema, StatusSchema } from "./gen/google/rpc/status_pb.js";

const DETAILS = "grpc-status-details-bin";
const DOMAIN = "perdure";
/** Metadata of an ErrorInfo: what the management API answers, when a registry refused something. */
const HTTP_STATUS = "http_status";

const REFUSALS = [400, 403, 404, 409, 422, 429, 500] as const satisfies readonly RegistryRefusal["status"][];

/** `status` when the management API answers a refusal with it. */
export function refusalStatus(status: number): RegistryRefusal["status"] | undefined {
  return REFUSALS.find((each) => each === status);
}

function codeOf(httpStatus: RegistryRefusal["status"]): status {
  switch (httpStatus) {
    case 403:
      return status.PERMISSION_DENIED;
    case 404:
      return status.NOT_FOUND;
    case 409:
      return status.FAILED_PRECONDITION;
    case 429:
      return status.RESOURCE_EXHAUSTED;
    case 500:
      return status.INTERNAL;
    default:
      return status.INVALID_ARGUMENT;
  }
}

/** The message without the code in front. */
function detailOf({ code, message }: RegistryRefusal): string {
  return code === undefined ? message : message.slice(`[${code}] `.length);
}

export function statusOf(error: PerdureError | RegistryRefusal): Pick<StatusObject, "code" | "details" | "metadata"> {
  const isRefusal = error instanceof RegistryRefusal;
  const code = isRefusal ? codeOf(error.status) : status[error.grpc];
  const detail = isRefusal ? detailOf(error) : error.detail;
  const httpStatus: Record<string, string> = isRefusal ? { [HTTP_STATUS]: String(error.status) } : {};
  const metadata = new Metadata();
  metadata.set(DETAILS, Buffer.from(encodeStatus(code, detail, error.code, httpStatus)));
  return { code, details: detail, metadata };
}

/** The error as a `google.rpc.Status`. */
export function encodeError(error: PerdureError): Uint8Array {
  return encodeStatus(status[error.grpc], error.detail, error.code, {});
}

function encodeStatus(code: status, message: string, reason: string | undefined, metadata: Record<string, string>): Uint8Array {
  const info = create(ErrorInfoSchema, { reason: reason ?? "", domain: DOMAIN, metadata });
  return toBinary(StatusSchema, create(StatusSchema, { code, message, details: [anyPack(ErrorInfoSchema, info)] }));
}

/** The error in a `google.rpc.Status`; OPS0003 when the bytes have none of the catalogue. */
export function decodeError(bytes: Uint8Array): PerdureError {
  try {
    const error = errorIn(bytes);
    if (error instanceof PerdureError) return error;
  } catch {
    // Reported below: a malformed response must not end the process that reads it.
  }
  return new PerdureError("OPS0003", "another process answered with an error that this version does not have");
}

/**
 * The error of the catalogue that the other process answered; undefined when it answered none: it cannot be reached, is of v0.1, or its details
 * cannot be read.
 */
export function answeredError(error: Partial<ServiceError>): PerdureError | RegistryRefusal | undefined {
  const [bytes] = error.metadata?.get(DETAILS) ?? [];
  if (!(bytes instanceof Uint8Array)) return undefined;
  try {
    return errorIn(bytes);
  } catch {
    return undefined; // A malformed response must not end the process that reads it.
  }
}

function errorIn(bytes: Uint8Array): PerdureError | RegistryRefusal | undefined {
  const { message, details } = fromBinary(StatusSchema, bytes);
  for (const detail of details) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info?.domain !== DOMAIN) continue;
    const code = isErrorCode(info.reason) ? info.reason : undefined;
    const httpStatus = refusalStatus(Number(info.metadata[HTTP_STATUS]));
    if (httpStatus !== undefined) return new RegistryRefusal(httpStatus, code, message);
    if (code !== undefined) return new PerdureError(code, message);
  }
  return undefined;
}

/** Whether the other process does not have the method that was called: it is of an earlier release. */
export function isUnimplemented(error: unknown): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === status.UNIMPLEMENTED;
}
