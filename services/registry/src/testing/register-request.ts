/** Why: a test of registrations says what it wants otherwise than usual, and leaves the rest. */
import type { RegisterRequest } from "@perdure/metadata";

/** For an endpoint reached over HTTP, with nothing forced, allowed or tried. */
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
