/** All rows of one object or workflow: those that are stored, overlaid with those that were applied since. */
import { inStorageOrder } from "./row-names.js";

/** Applied rows of all objects by name; null when the row was deleted. */
type AppliedRows<V> = Iterable<readonly [string, V | null]>;

/** `prefix`: how the names of the object's rows begin. Returns `stored` itself when nothing was applied to the object. */
export function overlaidState(
  stored: ReadonlyMap<string, Uint8Array>,
  applied: AppliedRows<Uint8Array>,
  prefix: string,
): ReadonlyMap<string, Uint8Array> {
  let state: Map<string, Uint8Array> | undefined;
  for (const [name, value] of applied) {
    if (!name.startsWith(prefix)) continue;
    state ??= new Map(stored);
    const stateKey = name.slice(prefix.length);
    if (value === null) state.delete(stateKey);
    else state.set(stateKey, value);
  }
  return state === undefined ? stored : inStorageOrder(state);
}

/** `prefix`: how the names of the workflow's rows begin. */
export function overlaidNames(stored: Iterable<string>, applied: AppliedRows<unknown>, prefix: string): readonly string[] {
  const names = new Set(stored);
  for (const [name, value] of applied) {
    if (!name.startsWith(prefix)) continue;
    if (value === null) names.delete(name.slice(prefix.length));
    else names.add(name.slice(prefix.length));
  }
  return [...names];
}
