/**
 * Why: what is known to the process alone is owned by other packages; this brings it into the plain rows that may go to another
 * thread. Nothing is copied until somebody asks, and rows are made one by one.
 */
import type { InvocationId } from "@perdure/base";
import type { DeploymentRow, HeldInvocation, InvokerRows, LiveRows, RegistryRows, ServiceRow } from "./ports.js";

/** Owners of live rows, as the process has them. */
export interface LivePorts {
  readonly invoker: InvokerRows;
  readonly registry: RegistryRows;
}

/** Everything that may be asked. The compiler insists that it is complete. */
export const LIVE_METHODS: { readonly [method in keyof LiveRows]: true } = {
  held: true,
  deployments: true,
  services: true,
  rules: true,
};

export function liveRowsOf({ invoker, registry }: LivePorts): LiveRows {
  return {
    held: (ids) => (ids === undefined ? invoker.statuses() : heldOf(invoker, ids)),
    *deployments() {
      for (const deployment of registry.deployments()) {
        const { address } = deployment;
        const row: DeploymentRow = {
          id: deployment.id,
          kind: address.kind,
          endpoint: address.kind === "http" ? address.uri : address.arn,
          createdAtMs: deployment.createdAtMs,
          minProtocolVersion: deployment.minProtocolVersion,
          maxProtocolVersion: deployment.maxProtocolVersion,
          services: deployment.services.map(({ definition }) => definition.name),
        };
        yield row;
      }
    },
    *services() {
      for (const registered of registry.services()) {
        const { definition, revision } = registered.revision;
        const row: ServiceRow = {
          name: definition.name,
          revision,
          kind: definition.kind,
          isPublic: registry.effective(registered).public,
          deploymentId: registered.deployment.id,
          handlers: definition.handlers.map(({ name, kind }) => ({ name, kind })),
        };
        yield row;
      }
    },
    rules: () => registry.rules(),
  };
}

function* heldOf(invoker: InvokerRows, ids: readonly InvocationId[]): Iterable<HeldInvocation> {
  for (const id of ids) {
    const held = invoker.status(id);
    if (held !== undefined) yield held;
  }
}
