/** Redacts the payloads, headers and texts of one journal entry; every other field stays as it is. */
import { bytesEqual, fromUtf8 } from "@perdure/base";

import {
  type CallCommand,
  decodeCommand,
  decodeNotification,
  encodeCommand,
  encodeNotification,
  type Failure,
  type Header,
  isCommand,
  isFault,
  type JournalCommand,
  type Notification,
  type OneWayCallCommand,
  type ValueOrFailure,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";

/** The parts of an entry that may be changed. Each function returns its argument when there is nothing to change. */
export interface EntryParts {
  /** `name` is that of the step, the state key or the promise; empty when there is none. */
  payload(bytes: Uint8Array, name: string): Uint8Array;
  header(header: Header): Header;
  text(text: string): string;
  /** A whole body, whose parts are not known. */
  unreadable(body: Uint8Array): Uint8Array;
}

/** The entry itself when nothing was changed. A body that cannot be decoded is passed to `unreadable`. */
export function mapEntry(entry: JournalEntry, name: string, parts: EntryParts): JournalEntry {
  const { type, body } = entry;
  if (isCommand(type)) {
    const command = decodeCommand(type, body);
    if (isFault(command)) return unreadable(entry, parts);
    const mapped = encodeCommand(mapCommand(command, parts));
    return bytesEqual(mapped, encodeCommand(command)) ? entry : { ...entry, body: mapped };
  }
  const notification = decodeNotification(type, body);
  if (isFault(notification)) return unreadable(entry, parts);
  const mapped = mapNotification(notification, name, parts);
  return mapped === notification ? entry : { ...entry, body: encodeNotification(mapped.id, mapped.result) };
}

function unreadable(entry: JournalEntry, { unreadable }: EntryParts): JournalEntry {
  const body = unreadable(entry.body);
  return body === entry.body ? entry : { ...entry, body };
}

/** Name under which the result of a command is a secret: its label, or the key of the state or promise that it reads. */
export function nameOfCommand(command: JournalCommand): string {
  switch (command.kind) {
    case "getLazyState":
    case "getEagerState":
    case "setState":
      return fromUtf8(command.stateKey);
    case "getPromise":
    case "peekPromise":
    case "completePromise":
      return command.key;
    default:
      return command.name;
  }
}

function mapCommand(command: JournalCommand, parts: EntryParts): JournalCommand {
  const mapped = mapLabel(command, parts);
  const name = nameOfCommand(command);
  switch (mapped.kind) {
    case "input": {
      const headers = mapHeaders(mapped.headers, parts);
      const value = parts.payload(mapped.value, name);
      return headers === mapped.headers && value === mapped.value ? mapped : { ...mapped, headers, value };
    }
    case "setState": {
      const value = parts.payload(mapped.value, name);
      return value === mapped.value ? mapped : { ...mapped, value };
    }
    case "output":
    case "completeAwakeable":
      return { ...mapped, result: mapResult(mapped.result, name, parts) };
    case "sendSignal":
      return { ...mapped, result: mapResult(mapped.result, name, parts) };
    case "getEagerState":
      return { ...mapped, result: mapResult(mapped.result, name, parts) };
    case "completePromise": {
      const completion = mapResult<ValueOrFailure>(mapped.completion, name, parts);
      return completion === mapped.completion ? mapped : { ...mapped, completion };
    }
    case "call":
    case "oneWayCall":
      return mapCall(mapped, name, parts);
    default:
      return mapped;
  }
}

function mapLabel(command: JournalCommand, parts: EntryParts): JournalCommand {
  if (command.name === "") return command;
  const name = parts.text(command.name);
  return name === command.name ? command : { ...command, name };
}

function mapCall<Call extends CallCommand | OneWayCallCommand>(call: Call, name: string, parts: EntryParts): Call {
  const headers = mapHeaders(call.headers, parts);
  const parameter = parts.payload(call.parameter, name);
  return headers === call.headers && parameter === call.parameter ? call : { ...call, headers, parameter };
}

function mapNotification(notification: Notification, name: string, parts: EntryParts): Notification {
  const { result } = notification;
  if (result.kind === "invocationId" || result.kind === "stateKeys") return notification;
  const mapped = mapResult(result, name, parts);
  return mapped === result ? notification : { ...notification, result: mapped };
}

type AnyResult = { readonly kind: "void" } | ValueOrFailure;

function mapResult<Result extends AnyResult>(result: Result, name: string, parts: EntryParts): Result {
  switch (result.kind) {
    case "void":
      return result;
    case "value": {
      const value = parts.payload(result.value, name);
      return value === result.value ? result : { ...result, value };
    }
    case "failure": {
      const failure = mapFailure(result.failure, parts);
      return failure === result.failure ? result : { ...result, failure };
    }
  }
}

export function mapFailure(failure: Failure, parts: EntryParts): Failure {
  const message = parts.text(failure.message);
  const metadata = mapHeaders(failure.metadata, parts);
  return message === failure.message && metadata === failure.metadata ? failure : { ...failure, message, metadata };
}

function mapHeaders(headers: readonly Header[], parts: EntryParts): readonly Header[] {
  const mapped = headers.map((header) => parts.header(header));
  return mapped.some((header, index) => header !== headers[index]) ? mapped : headers;
}
