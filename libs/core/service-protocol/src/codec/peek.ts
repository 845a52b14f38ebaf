/**
 * Single values out of stored bodies, without decoding the rest, for the hot path of appending entries.
 *
 * The bytes went through `decodeCommand` or came from this package's encoder. Malformed bytes throw `ProtoError`: in a journal they mean
 * corruption, which is neither the user's fault nor repaired here.
 */
import { ProtoReader } from "@perdure/base";
import { MessageType } from "../message-type.js";
import type { NotificationId, ValueOrFailure } from "../values.js";
import { decodeOutput } from "./decode-command.js";
import { lengthTag, missing, varintTag } from "./nested.js";
import type { NotificationVariant } from "./notification.js";

/** Completion id of the command's result (§2.3, field 11); undefined for commands that have none. */
export function resultCompletionIdOf(type: number, body: Uint8Array): number | undefined {
  switch (type) {
    case MessageType.GetLazyState:
    case MessageType.GetLazyStateKeys:
    case MessageType.GetPromise:
    case MessageType.PeekPromise:
    case MessageType.CompletePromise:
    case MessageType.Sleep:
    case MessageType.Call:
    case MessageType.Run:
    case MessageType.AttachInvocation:
    case MessageType.GetInvocationOutput:
      return lastVarint(body, varintTag(11));
    default:
      return undefined;
  }
}

/** Completion id under which Call and OneWayCall expect the callee's id (field 10); undefined for other commands. */
export function invocationIdCompletionIdOf(type: number, body: Uint8Array): number | undefined {
  return type === MessageType.Call || type === MessageType.OneWayCall ? lastVarint(body, varintTag(10)) : undefined;
}

/** Ids are optional on the wire only because 0 is left out. */
function lastVarint(body: Uint8Array, fieldNumber: number): number {
  let value = 0;
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === fieldNumber) value = r.uint32();
    else r.skip(tag & 7);
  }
  return value;
}

/** Completion id of a `ProposeRunCompletion` body. */
export function proposalCompletionIdOf(body: Uint8Array): number {
  return lastVarint(body, varintTag(1));
}

/** Id of a notification; its fields come first, so this reads the first few bytes only. */
export function notificationIdOf(type: number, body: Uint8Array): NotificationId {
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === varintTag(1) && type !== MessageType.Signal) return { kind: "completion", id: r.uint32() };
    if (tag === varintTag(2) && type === MessageType.Signal) return { kind: "signalIndex", index: r.uint32() };
    if (tag === lengthTag(3) && type === MessageType.Signal) return { kind: "signalName", name: r.string() };
    r.skip(tag & 7);
  }
  throw missing("notification id");
}

/** The variant of the result that a notification carries, without reading the result. */
export function notificationVariantOf(body: Uint8Array): NotificationVariant {
  const r = new ProtoReader(body);
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === lengthTag(4)) return "void";
    if (tag === lengthTag(5)) return "value";
    if (tag === lengthTag(6)) return "failure";
    if (tag === lengthTag(16)) return "invocationId";
    if (tag === lengthTag(17)) return "stateKeys";
    r.skip(tag & 7);
  }
  throw missing("result");
}

/** Returns the outcome of a notification in the evaluation of an awaited future (§9.2). */
export function notificationOutcomeOf(body: Uint8Array): "success" | "failure" {
  return notificationVariantOf(body) === "failure" ? "failure" : "success";
}

/** Result of an Output command; its value is a view into `body`. */
export function outputResultOf(body: Uint8Array): ValueOrFailure {
  return decodeOutput(body).result;
}
