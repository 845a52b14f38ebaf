/** Reads values that a process of v0.1 sent as JSON. Everything throws OPS0003 for a value that does not fit; `what` is for the error. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { PerdureError } from "@perdure/base";
import type { FieldCodec } from "../codec/form.js";
import { fromJson } from "../codec/json.js";

function refuseV01(what: string, cause?: unknown): never {
  throw new PerdureError("OPS0003", `${what} of a process of v0.1 is invalid`, { cause });
}

/**
 * Converts a value by writing it as a message of this release and reading that message: its bytes have the types of the fields, and its
 * codec checks ids, enumerations and required messages.
 */
export function checkedV01<T, Schema extends DescMessage>(
  schema: Schema,
  codec: FieldCodec<T, MessageShape<Schema>>,
  value: unknown,
  what: string,
): T {
  try {
    // Nothing of the unchecked value is returned: only what was read from the bytes.
    return codec.from(fromBinary(schema, toBinary(schema, codec.to(value as T))));
  } catch (cause) {
    return refuseV01(what, cause);
  }
}

/** The arguments of a method; those that are absent are undefined, as JSON has null for them. */
export function argumentsV01(bytes: Uint8Array): readonly unknown[] {
  return listV01(fromJson(bytes), "the arguments").map((value) => value ?? undefined);
}

export function listV01(value: unknown, what: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuseV01(what);
}

/** An object whose fields are not checked yet. */
export function fieldsV01(value: unknown, what: string): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : refuseV01(what);
}

export function textV01(value: unknown, what: string): string {
  return typeof value === "string" ? value : refuseV01(what);
}

export function textsV01(value: unknown, what: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fieldsV01(value, what)).map(([name, text]) => [name, textV01(text, what)]));
}

export function flagV01(value: unknown, what: string): boolean {
  return typeof value === "boolean" ? value : refuseV01(what);
}

export function numberV01(value: unknown, what: string): number {
  return typeof value === "number" ? value : refuseV01(what);
}

export function optionalV01<T>(value: unknown, what: string, read: (value: unknown, what: string) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value, what);
}
