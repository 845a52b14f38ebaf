/** Reports the changes of a registration: services, revisions, handlers. Pure. */
import type { ServiceMetadata } from "@perdure/admin-client";

interface ServiceRevisionChange {
  readonly service: string;
  readonly type: string;
  /** Undefined when no deployment served it before. */
  readonly fromRevision: number | undefined;
  readonly toRevision: number;
  readonly addedHandlers: readonly string[];
  readonly removedHandlers: readonly string[];
  /** `Service → Workflow`, when it changed. */
  readonly typeChange: string | undefined;
}

/** Returns the changes of a registration to each of its services; `known` are the services that are served now. */
export function changesOf(
  currentServices: readonly ServiceMetadata[],
  newServices: readonly ServiceMetadata[],
): readonly ServiceRevisionChange[] {
  const before = new Map(currentServices.map((service) => [service.name, service]));
  return newServices.map((after) => {
    const old = before.get(after.name);
    const oldNames = new Set(old?.handlers.map(({ name }) => name) ?? []);
    const newNames = new Set(after.handlers.map(({ name }) => name));
    return {
      service: after.name,
      type: after.ty,
      fromRevision: old?.revision,
      toRevision: after.revision,
      addedHandlers: [...newNames].filter((name) => !oldNames.has(name)),
      removedHandlers: [...oldNames].filter((name) => !newNames.has(name)),
      typeChange: old === undefined || old.ty === after.ty ? undefined : `${old.ty} → ${after.ty}`,
    };
  });
}

/** Lines such as `+ Greeter (Service, revision 1): greet`, `~ Counter revision 1 → 2: +reset -old`. */
export function changeLines(changes: readonly ServiceRevisionChange[]): readonly string[] {
  return changes.map((change) => {
    const { service, type, fromRevision, toRevision, addedHandlers, removedHandlers, typeChange } = change;
    if (fromRevision === undefined) return `+ ${service} (${type}): ${addedHandlers.join(", ")}`;
    const handlers = [...addedHandlers.map((name) => `+${name}`), ...removedHandlers.map((name) => `-${name}`)];
    const what = [...(typeChange === undefined ? [] : [typeChange]), ...handlers].join(" ");
    if (fromRevision === toRevision && what === "") return `= ${service} (${type}, revision ${toRevision}): unchanged`;
    return `~ ${service} (${type}), revision ${fromRevision} → ${toRevision}: ${what === "" ? "the same handlers" : what}`;
  });
}
