/**
 * Plain data as JSON, with what JSON lacks: bytes (`{"$bytes": base64}`), big integers (`{"$bigint": digits}`), maps (`{"$map": entries}`).
 * The form of v0.1.
 */
import { fromUtf8, PerdureError, utf8 } from "@perdure/base";

export function toJson(value: unknown): Uint8Array {
  return utf8(JSON.stringify(value ?? null, replace));
}

/** Throws OPS0003 when the bytes are no JSON. The caller checks the value (`v01/checked.ts`). */
export function fromJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(fromUtf8(bytes), revive);
  } catch (cause) {
    throw new PerdureError("OPS0003", "a message of a process of v0.1 is not JSON", { cause });
  }
}

function replace(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array)
    return { $bytes: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
  if (value instanceof Map) return { $map: [...value] };
  return typeof value === "bigint" ? { $bigint: value.toString() } : value;
}

function revive(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("$bytes" in value && typeof value.$bytes === "string") return new Uint8Array(Buffer.from(value.$bytes, "base64"));
  if ("$map" in value && Array.isArray(value.$map)) return new Map(value.$map.map(entryOf));
  return "$bigint" in value && typeof value.$bigint === "string" ? BigInt(value.$bigint) : value;
}

function entryOf(value: unknown): [unknown, unknown] {
  if (!Array.isArray(value) || value.length !== 2) throw new SyntaxError("an entry of a map is a pair");
  return [value[0], value[1]];
}
