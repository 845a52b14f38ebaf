/**
 * Errors between processes: a status of gRPC, and in its details a google.rpc.Status whose ErrorInfo names the code of the error catalogue
 * (https://google.aip.dev/193).
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";
import { PerdureError } from "@perdure/base";
import { isErrorCode } from "@perdure/base/errors";
import { ErrorInfoSchema, StatusSchema } from "./gen/google/rpc/status_pb.js";

const DETAILS = "grpc-status-details-bin";
const DOMAIN = "perdure";

export function statusOf(error: PerdureError): Pick<StatusObject, "code" | "details" | "metadata"> {
  const code = status[error.grpc as keyof typeof status];
  const info = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: error.code, domain: DOMAIN }));
  const whole = create(StatusSchema, { code, message: error.detail, details: [info] });
  const metadata = new Metadata();
  metadata.set(DETAILS, Buffer.from(toBinary(StatusSchema, whole)));
  return { code, details: error.detail, metadata };
}

/** The error of the catalogue that the other process answered; undefined when it answered none: it cannot be reached, or is of v0.1. */
export function answeredError(error: Partial<ServiceError>): PerdureError | undefined {
  const [bytes] = error.metadata?.get(DETAILS) ?? [];
  if (!(bytes instanceof Uint8Array)) return undefined;
  const { message, details } = fromBinary(StatusSchema, bytes);
  for (const detail of details) {
    const info = anyUnpack(detail, ErrorInfoSchema);
    if (info?.domain === DOMAIN && isErrorCode(info.reason)) return new PerdureError(info.reason, message);
  }
  return undefined;
}

/** Whether the other process does not have the method that was called: it is of an earlier release. */
export function isUnimplemented(error: unknown): boolean {
  return (error as Partial<ServiceError> | undefined)?.code === status.UNIMPLEMENTED;
}
