/** The stored form of facts that most invocations do not have: what a fork, a debounced send and the delivery of an event add. */
import { type EventSubscriptionId, ProtoReader, type ProtoWriter } from "@perdure/base";
import type { Debounce, EventOrigin, ForkFacts, InvocationFacts } from "@perdure/state-machine";
import { EVENT_TYPE_NUMBERS, eventTypeOf } from "./event-type.js";

export interface RareFacts {
  fork: ForkFacts | undefined;
  debounce: Debounce | undefined;
  event: EventOrigin | undefined;
}

export function writeRareFacts(w: ProtoWriter, { fork, debounce, event }: InvocationFacts): void {
  if (fork !== undefined) w.fork(18).uint32(1, fork.atEntry).packedUint32(2, fork.editedSteps).join();
  if (debounce !== undefined) {
    const { key, startByMs, sendCount } = debounce;
    w.fork(20).string(1, key).uint64(2, startByMs).uint32(3, sendCount).join();
  }
  if (event !== undefined) {
    const { subscriptionId, eventId, type } = event;
    w.fork(23).string(1, subscriptionId).string(2, eventId).uint32(3, EVENT_TYPE_NUMBERS[type]).join();
  }
}

/** Skips fields that this version does not know. */
export function readRareFact(r: ProtoReader, tag: number, into: RareFacts): void {
  switch (tag >>> 3) {
    case 18:
      into.fork = decodeFork(r.bytes());
      return;
    case 20:
      into.debounce = decodeDebounce(r.bytes());
      return;
    case 23:
      into.event = decodeEvent(r.bytes());
      return;
    default:
      r.skip(tag & 7);
  }
}

/** Field 2, length-delimited. */
const PACKED_EDITED_STEPS = 18;

function decodeFork(bytes: Uint8Array): ForkFacts {
  const r = new ProtoReader(bytes);
  let atEntry = 0;
  const editedSteps: number[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) atEntry = r.uint32();
    else if (tag === PACKED_EDITED_STEPS) r.packedUint32(editedSteps);
    else r.skip(tag & 7);
  }
  return { atEntry, editedSteps };
}

function decodeDebounce(bytes: Uint8Array): Debounce {
  const r = new ProtoReader(bytes);
  let key = "";
  let startByMs = 0;
  let sendCount = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        key = r.string();
        break;
      case 2:
        startByMs = r.uint64Number();
        break;
      case 3:
        sendCount = r.uint32();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return { key, startByMs, sendCount };
}

function decodeEvent(bytes: Uint8Array): EventOrigin {
  const r = new ProtoReader(bytes);
  let subscriptionId = "" as EventSubscriptionId;
  let eventId = "";
  let type = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        subscriptionId = r.string() as EventSubscriptionId;
        break;
      case 2:
        eventId = r.string();
        break;
      case 3:
        type = r.uint32();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return { subscriptionId, eventId, type: eventTypeOf(type) };
}
