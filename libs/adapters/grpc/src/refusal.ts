/** The text, HTTP status and code of a registry's refusal, so that the calling process can answer its client with exactly the same. */
import { isErrorCode, PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import type { Refused } from "./gen/v1/registry_pb.js";
import { refusalStatus } from "./status.js";

/** Status 0: an error that is not a refusal of the management API. Undefined: an error that must not be shown to the caller. */
export function refusalOf(cause: unknown): { status: number; code?: string; detail: string } | undefined {
  if (cause instanceof RegistryRefusal) {
    const { status, code, message } = cause;
    return code === undefined ? { status, detail: message } : { status, code, detail: message.slice(code.length + 3) };
  }
  return cause instanceof PerdureError ? { status: 0, code: cause.code, detail: cause.detail } : undefined;
}

/** OPS0003 when the code or the status is none that this version has. */
export function errorOf({ status, code, detail }: Pick<Refused, "status" | "code" | "detail">): PerdureError | RegistryRefusal {
  const httpStatus = refusalStatus(status);
  const isOfCatalogue = code !== undefined && isErrorCode(code);
  if (status === 0 && isOfCatalogue) return new PerdureError(code, detail);
  if (httpStatus !== undefined && (code === undefined || isOfCatalogue)) return new RegistryRefusal(httpStatus, code, detail);
  return new PerdureError("OPS0003", `a registry answered with an error that this version does not have: ${detail}`);
}
