/** The order of state keys that the protocol requires (§3.4): by the varint of their length, then by bytes. */

export function sortedState(state: [string, Uint8Array][]): ReadonlyMap<string, Uint8Array> {
  if (state.length > 1) state.sort((a, b) => (order(a[0]) < order(b[0]) ? -1 : 1));
  return new Map(state);
}

function order(key: string): string {
  let text = "";
  let length = key.length;
  for (; length > 127; length >>>= 7) text += String.fromCharCode((length & 127) | 128);
  return text + String.fromCharCode(length) + key;
}
