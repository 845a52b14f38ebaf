/**
 * The state of the object when the invocation began, as far as it can be derived: values that the handler read before it wrote them, and
 * for an invocation that is not completed what it has not written.
 */
import { toBinaryString } from "@perdure/base";
import {
  decodeCommand,
  decodeNotification,
  isCommand,
  isFault,
  isNotification,
  type JournalCommand,
  type NotificationResult,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";

/** Keys are binary strings. */
export interface StartState {
  readonly values: ReadonlyMap<string, Uint8Array>;
  /** Every key of the object is there, except keys that the handler wrote without reading them before. */
  readonly isComplete: boolean;
}

/** @param current state of the object now; undefined when other invocations may have changed it since */
export function startState(entries: readonly JournalEntry[], current: ReadonlyMap<string, Uint8Array> | undefined): StartState {
  const read = new Map<string, Uint8Array | undefined>();
  const written = new Set<string>();
  const pending = new Map<number, string>();
  let isCleared = false;
  for (const { type, body } of entries) {
    if (isNotification(type)) {
      const notification = decodeNotification(type, body);
      if (isFault(notification) || notification.id.kind !== "completion") continue;
      const key = pending.get(notification.id.id);
      if (key !== undefined) read.set(key, bytesOf(notification.result));
      continue;
    }
    const command = isCommand(type) ? decodeCommand(type, body) : undefined;
    if (command === undefined || isFault(command)) continue;
    if (command.kind === "clearAllState") isCleared = true;
    const key = keyOf(command);
    if (key === undefined) continue;
    if (command.kind === "setState" || command.kind === "clearState") written.add(key);
    else if (isCleared || written.has(key) || read.has(key)) continue;
    else if (command.kind === "getLazyState") pending.set(command.resultCompletionId, key);
    else if (command.kind === "getEagerState") read.set(key, bytesOf(command.result));
  }
  const values = new Map<string, Uint8Array>();
  for (const [key, value] of current ?? []) if (!written.has(key) && !read.has(key)) values.set(key, value);
  for (const [key, value] of read) if (value !== undefined) values.set(key, value);
  return { values, isComplete: current !== undefined && !isCleared };
}

function keyOf(command: JournalCommand): string | undefined {
  switch (command.kind) {
    case "getLazyState":
    case "getEagerState":
    case "setState":
    case "clearState":
      return toBinaryString(command.stateKey);
    default:
      return undefined;
  }
}

function bytesOf(result: NotificationResult): Uint8Array | undefined {
  return result.kind === "value" ? result.value : undefined;
}
