/** A registration request with defaults for the fields that a test does not set. */
import type { RegisterRequest } from "@perdure/metadata";

/** Returns a request to register an endpoint over HTTP, with nothing forced, allowed or tried. */
export function aRegisterRequest(uri: string, change: Partial<RegisterRequest> = {}): RegisterRequest {
  return {
    address: { kind: "http", uri, useHttp11: false },
    additionalHeaders: {},
    metadata: {},
    force: false,
    breaking: false,
    dryRun: false,
    acceptUnchanged: false,
    ...change,
  };
}
