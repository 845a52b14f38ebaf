/**
 * The whole value of a journal entry is in `entry_json` of `sys_journal`, bytes as lists of numbers, in a field that differs by type. Pure.
 */
import { isRecord } from "../../kit/problem-text.js";

export interface EntryValue {
  /** Undefined when the entry has no value. */
  readonly bytes: Uint8Array | undefined;
  /** Headers of an input. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The entry is a result that failed. */
  readonly failure: { readonly code: number; readonly message: string } | undefined;
  /** A list instead of a value: state keys. */
  readonly keys: readonly string[] | undefined;
}

const NOTHING: EntryValue = { bytes: undefined, headers: [], failure: undefined, keys: undefined };

/** `text`: `{"Command":{"Run":{…}}}` or `{"Notification":{"Completion":{"Run":{…}}}}`; anything else has no value. */
export function entryValueOf(text: string): EntryValue {
  const fields = fieldsOf(parsed(text));
  if (fields === undefined) return NOTHING;
  const request = fields["request"];
  const source = [fields["payload"], fields["value"], isRecord(request) ? request["parameter"] : undefined, fields["result"]];
  const payload = source.find((value) => value !== undefined);
  const keys = fields["state_keys"];
  return {
    bytes: bytesOf(payload),
    headers: headersOf(fields["headers"]),
    failure: failureOf(payload),
    keys: Array.isArray(keys) ? keys.map(String) : undefined,
  };
}

/** Completion id under which the result of a command arrives; undefined when it has none. */
export function completionIdOf(text: string): number | undefined {
  const fields = fieldsOf(parsed(text));
  const id = fields?.["result_completion_id"] ?? fields?.["completion_id"];
  return typeof id === "number" ? id : undefined;
}

function fieldsOf(entry: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(entry)) return undefined;
  const command = onlyValue(entry["Command"]);
  if (isRecord(command)) return command;
  const notification = entry["Notification"];
  if (!isRecord(notification)) return undefined;
  const inner = notification["Signal"] ?? onlyValue(notification["Completion"]);
  return isRecord(inner) ? inner : undefined;
}

function onlyValue(tagged: unknown): unknown {
  return isRecord(tagged) ? Object.values(tagged)[0] : undefined;
}

function bytesOf(value: unknown): Uint8Array | undefined {
  const list = isRecord(value) ? value["Success"] : value;
  const isBytes = Array.isArray(list) && list.every((byte): byte is number => typeof byte === "number");
  return isBytes ? Uint8Array.from(list) : undefined;
}

function failureOf(value: unknown): EntryValue["failure"] {
  const failure = isRecord(value) ? value["Failure"] : undefined;
  if (!isRecord(failure)) return undefined;
  return { code: Number(failure["code"]), message: String(failure["message"]) };
}

function headersOf(value: unknown): EntryValue["headers"] {
  if (!Array.isArray(value)) return [];
  return value.filter(isRecord).map((header) => [String(header["name"]), String(header["value"])] as const);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
