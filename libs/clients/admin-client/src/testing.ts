/** Builders for responses in tests of what shows them. */
import type { HandlerMetadata, ServiceMetadata } from "./views.js";

export function aHandler(name: string, more: Partial<HandlerMetadata> = {}): HandlerMetadata {
  return {
    name,
    public: true,
    input_description: "any",
    output_description: "any",
    retry_policy: { max_attempts: null },
    ...more,
  };
}

/** A plain service in revision 1 with the server's defaults. */
export function aService(
  name: string,
  handlers: readonly HandlerMetadata[],
  more: Partial<ServiceMetadata> = {},
): ServiceMetadata {
  return {
    name,
    ty: "Service",
    handlers: [...handlers],
    deployment_id: "dp_1",
    revision: 1,
    public: true,
    idempotency_retention: "1d",
    inactivity_timeout: "1m",
    abort_timeout: "10m",
    enable_lazy_state: false,
    retry_policy: { initial_interval: "500ms", exponentiation_factor: 2, max_attempts: null, on_max_attempts: "Pause" },
    ...more,
  };
}
