/** Two users may change one key; their changes are compared before anything is overwritten. Pure. */
import type { StateMap } from "@perdure/admin-client";
import { sameBytes } from "./state-values.js";

/** Names to their new bytes; undefined takes an entry away. */
export type StateChanges = ReadonlyMap<string, Uint8Array | undefined>;

export interface Clash {
  readonly name: string;
  /** Undefined where there is none. */
  readonly mine: Uint8Array | undefined;
  readonly theirs: Uint8Array | undefined;
  /** The other user changed it too. */
  readonly isOver: boolean;
}

export function withChanges(state: StateMap, changes: StateChanges): StateMap {
  const next = new Map(state);
  for (const [name, bytes] of changes) {
    if (bytes === undefined) next.delete(name);
    else next.set(name, bytes);
  }
  return next;
}

/** Effect of my changes on the current state, by name. `before` is the state that I had read. */
export function clashesOf(before: StateMap, theirs: StateMap, changes: StateChanges): readonly Clash[] {
  return [...changes]
    .map(([name, mine]) => {
      const now = theirs.get(name);
      return { name, mine, theirs: now, isOver: !sameBytes(before.get(name), now) };
    })
    .filter((clash) => !sameBytes(clash.mine, clash.theirs))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Changes of the other user that mine leave as they are now. */
export function changedBeside(before: StateMap, theirs: StateMap, changes: StateChanges): readonly string[] {
  const names = [...new Set([...before.keys(), ...theirs.keys()])].sort();
  return names.filter((name) => !changes.has(name) && !sameBytes(before.get(name), theirs.get(name)));
}
