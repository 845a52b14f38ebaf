/** The registry for management APIs of a server with several threads. */
import type { RegistryRole } from "@perdure/registry";

/** Resolves with the result of a change when every thread shows it. */
type UntilShown = <T>(change: Promise<T>) => Promise<T>;

export function shownRegistry(registry: RegistryRole, shown: UntilShown): RegistryRole {
  return {
    ...registry,
    register: (request, signal) => shown(registry.register(request, signal)),
    update: (id, request, signal) => shown(registry.update(id, request, signal)),
    remove: (id, force, undo) => shown(registry.remove(id, force, undo)),
    modifyService: (name, changes) => shown(registry.modifyService(name, changes)),
    createEventSubscription: (request) => shown(registry.createEventSubscription(request)),
    removeEventSubscription: (id, undo) => shown(registry.removeEventSubscription(id, undo)),
    putRules: (changes) => shown(registry.putRules(changes)),
    deleteRules: (deletions, undo) => shown(registry.deleteRules(deletions, undo)),
    restoreDeleted: (operation) => shown(registry.restoreDeleted(operation)),
  };
}
