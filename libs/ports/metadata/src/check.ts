/** Checks of arguments that all drivers share, so that they reject misuse with the same errors. */
import { invariant, PerdureError } from "@perdure/base";
import { DOCUMENT_CHARS_MAX, KEY_CHARS_MAX, WRITES_MAX } from "./limits.js";
import type { DocumentWrite, Json } from "./store.js";

/** Checks bounds and shape of a write; throws `InvariantError`. */
export function checkWrites(writes: readonly DocumentWrite[]): void {
  invariant(writes.length <= WRITES_MAX, "a metadata write touches a bounded number of documents");
  const keys = new Set<string>();
  for (const write of writes) {
    checkKey(write.key);
    invariant(!keys.has(write.key), "a metadata write names each key once");
    keys.add(write.key);
  }
}

export function checkKey(key: string): void {
  invariant(key.length > 0 && key.length <= KEY_CHARS_MAX, "a metadata key is neither empty nor longer than its bound");
}

/** Returns the JSON text of a document; throws `InvariantError` above its bound. */
export function documentText(value: unknown): string {
  const text = JSON.stringify(value);
  invariant(text !== undefined && text.length <= DOCUMENT_CHARS_MAX, "a metadata document is JSON within its bound");
  return text;
}

/** Returns the value of a stored document; throws STO0003 when the stored text is not JSON. */
export function documentValue(key: string, text: string): Json {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PerdureError("STO0003", `the metadata document '${key}' cannot be read`, { cause });
  }
}
