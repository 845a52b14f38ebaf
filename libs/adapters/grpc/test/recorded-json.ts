/** Converts values to JSON as they are recorded: bytes become `{"$base64": …}`; `undefined` and the cached bytes of facts are left out. */
export function recordedJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return { $base64: toBase64(value) };
  if (Array.isArray(value)) return value.map(recordedJson);
  if (typeof value !== "object" || value === null) return value;
  const isFacts = "completionRetentionMs" in value;
  const fields = Object.entries(value).filter(([name, field]) => field !== undefined && !(isFacts && name === "bytes"));
  return Object.fromEntries(fields.map(([name, field]) => [name, recordedJson(field)]));
}

export const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
