/** The text, HTTP status and code of a registry's refusal, so that the calling process can answer its client with exactly the same. */
import { type ErrorCode, PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import type { Refused } from "./gen/v1/registry_pb.js";

/** Status 0: an error that is not a refusal of the management API. Undefined: an error that must not be shown to the caller. */
export function refusalOf(cause: unknown): { status: number; code?: string; detail: string } | undefined {
  if (cause instanceof RegistryRefusal) {
    const { status, code, message } = cause;
    return code === undefined ? { status, detail: message } : { status, code, detail: message.slice(code.length + 3) };
  }
  return cause instanceof PerdureError ? { status: 0, code: cause.code, detail: cause.detail } : undefined;
}

export function errorOf({ status, code, detail }: Refused): PerdureError | RegistryRefusal {
  if (status === 0) return new PerdureError(code as ErrorCode, detail);
  return new RegistryRefusal(status as RegistryRefusal["status"], code as ErrorCode | undefined, detail);
}
