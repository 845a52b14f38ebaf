/**
 * Partition commands as they travel between roles. Commands in the outbox of another partition are frequent and travel in their stored
 * form; commands of management APIs are rare and travel as JSON.
 */
import { allocateBytes, InvariantError } from "@perdure/base";
import type { AttemptCommand, PartitionCommand, TimerFired } from "@perdure/state-machine";
import { decodeOutboxCommand, encodeOutboxCommand } from "@perdure/storage";
import { fromJson, toJson } from "./json.js";

/** Commands that may come from outside the leader's process. */
export type RemoteCommand = Exclude<PartitionCommand, AttemptCommand | TimerFired>;

const OUTBOX_FORM = 1;
const JSON_FORM = 2;

export function encodeCommand(command: RemoteCommand): Uint8Array {
  switch (command.kind) {
    case "invoke":
    case "attach":
    case "queryOutput":
    case "notify":
    case "signal":
    case "kill":
      return tagged(OUTBOX_FORM, encodeOutboxCommand(command));
    default:
      return tagged(JSON_FORM, toJson(command));
  }
}

export function decodeCommand(bytes: Uint8Array): RemoteCommand {
  const body = bytes.subarray(1);
  switch (bytes[0]) {
    case OUTBOX_FORM:
      return decodeOutboxCommand(body);
    case JSON_FORM:
      return fromJson(body) as RemoteCommand;
    default:
      throw new InvariantError("a command in a form that this version cannot read");
  }
}

function tagged(tag: number, body: Uint8Array): Uint8Array {
  const bytes = allocateBytes(body.length + 1);
  bytes[0] = tag;
  bytes.set(body, 1);
  return bytes;
}
