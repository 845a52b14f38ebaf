/**
 * Notifications (§2.4): completions of commands, and signals. All types share one skeleton, an id and a result, so one
 * encoder and one decoder serve them all; which results a type may carry is settled where they are made.
 */
import { ProtoReader, ProtoWriter, unreachable } from "@perdure/base";
import { decodeOrFault, type ProtocolFault, protocolViolation } from "../fault.js";
import { isNotification, messageTypeName } from "../message-type.js";
import { type NotificationId, type ResultValue, voidResult } from "../values.js";
import { lengthTag, missing, readFailure, readStateKeys, readValue, varintTag, writeResult, writeStateKeys } from "./nested.js";

/** Everything a notification can carry: a result, the id of a callee, or the keys of a service's state. */
export type NotificationResult =
  | ResultValue
  | { readonly kind: "invocationId"; readonly invocationId: string }
  | { readonly kind: "stateKeys"; readonly stateKeys: readonly Uint8Array[] };

export type NotificationVariant = NotificationResult["kind"];

export interface Notification {
  readonly kind: "notification";
  /** Message type, e.g. `MessageType.SleepCompletion`. */
  readonly type: number;
  readonly id: NotificationId;
  readonly result: NotificationResult;
}

/** Decodes a stored notification. A fault is RT0012: malformed, id or result missing, or a type that is not a notification. */
export function decodeNotification(type: number, body: Uint8Array): Notification | ProtocolFault {
  if (!isNotification(type)) return protocolViolation(`${messageTypeName(type)} is not a notification`);
  const skeleton = decodeOrFault(messageTypeName(type), readSkeleton, body);
  if (skeleton.kind === "fault") return skeleton;
  return { kind: "notification", type, id: skeleton.id, result: skeleton.result };
}

function readSkeleton(body: Uint8Array): { kind: "skeleton"; id: NotificationId; result: NotificationResult } {
  let id: NotificationId | undefined;
  let result: NotificationResult | undefined;
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === varintTag(1)) id = { kind: "completion", id: r.uint32() };
    else if (tag === varintTag(2)) id = { kind: "signalIndex", index: r.uint32() };
    else if (tag === lengthTag(3)) id = { kind: "signalName", name: r.string() };
    else if (tag === lengthTag(4)) {
      r.skip(2);
      result = voidResult;
    } else if (tag === lengthTag(5)) result = { kind: "value", value: readValue(r) };
    else if (tag === lengthTag(6)) result = { kind: "failure", failure: readFailure(r) };
    else if (tag === lengthTag(16)) result = { kind: "invocationId", invocationId: r.string() };
    else if (tag === lengthTag(17)) result = { kind: "stateKeys", stateKeys: readStateKeys(r) };
    else r.skip(tag & 7);
  }
  if (id === undefined) throw missing("notification id");
  if (result === undefined) throw missing("result");
  return { kind: "skeleton", id, result };
}

/** One writer for all: encoding is synchronous and `finish` copies. */
const writer = new ProtoWriter();

/** Body of a notification's frame, the same for every type. Ids are written even when zero, results even when empty. */
export function encodeNotification(id: NotificationId, result: NotificationResult): Uint8Array {
  const w = writer.reset();
  switch (id.kind) {
    case "completion":
      w.uint32(1, id.id);
      break;
    case "signalIndex":
      w.uint32(2, id.index);
      break;
    case "signalName":
      w.string(3, id.name);
      break;
    default:
      return unreachable(id);
  }
  switch (result.kind) {
    case "void":
    case "value":
    case "failure":
      writeResult(w, result, 4, 5, 6);
      break;
    case "invocationId":
      w.string(16, result.invocationId);
      break;
    case "stateKeys":
      writeStateKeys(w, 17, result.stateKeys);
      break;
    default:
      return unreachable(result);
  }
  return w.finish();
}

/** Body of a completion, for callers that hold the bare number. */
export function encodeCompletion(completionId: number, result: NotificationResult): Uint8Array {
  return encodeNotification({ kind: "completion", id: completionId }, result);
}
