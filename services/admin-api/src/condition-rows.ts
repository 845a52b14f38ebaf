/** The rows of `sys_condition`: what the checks of the environment have stored, for introspection. */
import { heldConditions } from "@perdure/environment-events";
import type { ConditionsPort } from "@perdure/introspection";
import type { MetadataStore } from "@perdure/metadata";

export function conditionRows(metadata: MetadataStore): ConditionsPort {
  return {
    async *rows() {
      yield* await heldConditions(metadata);
    },
  };
}
