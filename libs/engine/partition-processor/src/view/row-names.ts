/** Names of rows in the maps of a view. */
import type { TimerKey } from "@perdure/state-machine";

/** Services have no slash in their name, so the text is unambiguous. */
export function objectName(service: string, key: string): string {
  return `${service}/${key}`;
}

/** Name of a state key or promise: the key's length distinguishes `a/b` + `c` from `a` + `b/c`. */
export function stateName(service: string, key: string, name: string): string {
  return `${service}/${key.length}:${key}/${name}`;
}

export function timerName(timer: TimerKey): string {
  return `${timer.dueAtMs}${timer.kind}${timer.id}${timer.sequence}`;
}

/** Orders state by the varint of the key's length, then by bytes: the protocol's order of state keys (§3.4). */
export function inStorageOrder(state: Map<string, Uint8Array>): Map<string, Uint8Array> {
  const order = (key: string): string => lengthText(key.length) + key;
  return new Map([...state].sort((a, b) => (order(a[0]) < order(b[0]) ? -1 : 1)));
}

function lengthText(length: number): string {
  let text = "";
  while (length > 127) {
    text += String.fromCharCode((length & 127) | 128);
    length >>>= 7;
  }
  return text + String.fromCharCode(length);
}
