/** Selects the state that is sent in Start (service-protocol §3.4): all in storage order, up to a limit; the handler requests the rest. */
import { fromBinaryString } from "@perdure/base";
import type { StateEntry } from "@perdure/service-protocol";

export interface EagerState {
  readonly entries: readonly StateEntry[];
  /** False only when `entries` is the whole state. */
  readonly partial: boolean;
}

const NONE: EagerState = { entries: [], partial: true };

/**
 * @param state undefined: the handler has no state or reads it lazily
 *
 * @param bytesMax of keys and values together; 0 sends none. The first entry over the limit ends the collection.
 */
export function eagerState(state: ReadonlyMap<string, Uint8Array> | undefined, bytesMax: number): EagerState {
  if (state === undefined || bytesMax === 0) return NONE;
  const entries: StateEntry[] = [];
  let size = 0;
  for (const [key, value] of state) {
    size += key.length + value.length;
    if (size > bytesMax) return { entries, partial: true };
    entries.push({ key: fromBinaryString(key), value });
  }
  return { entries, partial: false };
}
