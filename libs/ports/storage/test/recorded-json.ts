/** Converts recorded values to JSON for comparison, since JSON has no bytes, no big integers and no `undefined`. */

/**
 * Bytes become `{"$base64": …}`, big integers `{"$bigint": …}`, maps lists of pairs; `undefined` and the cached bytes of facts are left
 * out.
 */
export function recordedJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $base64: Buffer.from(value).toString("base64") };
  if (typeof value === "bigint") return { $bigint: String(value) };
  if (value instanceof Map) return [...value].map(recordedJson);
  if (Array.isArray(value)) return value.map(recordedJson);
  if (typeof value !== "object" || value === null) return value;
  const isFacts = "completionRetentionMs" in value;
  const fields = Object.entries(value).filter(([name, field]) => field !== undefined && !(isFacts && name === "bytes"));
  return Object.fromEntries(fields.map(([name, field]) => [name, recordedJson(field)]));
}

export const fromBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));
export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
