/** Reads what a leader keeps in memory about state that expires. */
import { OWN_TTL_SERVICES_KEY, STATE_TTL_SERVICE } from "@perdure/state-machine";
import type { AnyPartitionStore } from "./async-reads.js";
import type { StoredStateTtls } from "./partition-store.js";

export async function storedStateTtls(
  store: Pick<AnyPartitionStore, "stateOf" | "timers">,
  partition: number,
): Promise<StoredStateTtls | undefined> {
  const [services, [first]] = await Promise.all([
    store.stateOf(partition, STATE_TTL_SERVICE, OWN_TTL_SERVICES_KEY),
    store.timers(partition, "state", 0, 1),
  ]);
  if (services.size === 0 && first === undefined) return undefined;
  return { ownServices: [...services.keys()], firstDueAtMs: first?.dueAtMs };
}
