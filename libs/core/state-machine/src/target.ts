/**
 * The target of an invocation: a handler of a service, and for keyed services the key. The types of service and handler are fixed when
 * the invocation is created, so that a later revision cannot change how a running one is locked or routed.
 */
export type ServiceType = "service" | "virtualObject" | "workflow";

/** `exclusive` runs one at a time per key, `workflow` is the `run` of a workflow, everything else is `shared`. */
export type HandlerType = "exclusive" | "shared" | "workflow";

export interface Target {
  /** Part of the identity: the same workflow key in two scopes is two workflows. All invocations of a scope share one partition. */
  readonly scope: string | undefined;
  readonly service: string;
  /** Present exactly for virtual objects and workflows; the empty string is a legal key. */
  readonly key: string | undefined;
  readonly handler: string;
  readonly serviceType: ServiceType;
  readonly handlerType: HandlerType;
}

/** Returns `Service/handler` or `Object/key/handler`, as introspection prints it. */
export function targetText(target: Target): string {
  return target.key === undefined ? `${target.service}/${target.handler}` : `${target.service}/${target.key}/${target.handler}`;
}

/** Whether this invocation takes the object's lock. */
export function isExclusive(target: Target): target is Target & { readonly key: string } {
  return target.handlerType === "exclusive" && target.key !== undefined;
}

/** Whether this is the one `run` of a workflow key. */
export function isWorkflowRun(target: Target): target is Target & { readonly key: string } {
  return target.handlerType === "workflow" && target.key !== undefined;
}

/**
 * Returns the first half of the name under which state, promises and locks are stored (the second half is the key): the service, and
 * the scope with it. No service and no scope has an `@`.
 */
export function keyspaceOf(target: Target): string {
  return target.scope === undefined ? target.service : `${target.service}@${target.scope}`;
}

/** Splits the result of `keyspaceOf`. */
export function parseKeyspace(keyspace: string): { readonly service: string; readonly scope: string | undefined } {
  const at = keyspace.indexOf("@");
  return at < 0 ? { service: keyspace, scope: undefined } : { service: keyspace.slice(0, at), scope: keyspace.slice(at + 1) };
}

/** Whether the target needs a slot of its scope to run. Targets that take an object's lock are limited by the lock instead. */
export function isSlotted(target: Target): target is Target & { readonly scope: string } {
  return target.scope !== undefined && !isExclusive(target);
}

/** Whether the service has state: keyed services have, plain ones have none. */
export function hasState(target: Target): target is Target & { readonly key: string } {
  return target.key !== undefined;
}
