/** Codec of sinks, which invocations and commands to other partitions have in the same form. */
import { type InvocationId, ProtoReader, type ProtoWriter } from "@perdure/base";
import type { Sink } from "@perdure/state-machine";

/** `field`: number of the field that holds the sink. */
export function writeSink(w: ProtoWriter, field: number, { kind, callerId, callerGeneration, completionId }: Sink): void {
  w.fork(field)
    .uint32(1, kind === "call" ? 0 : 1)
    .string(2, callerId)
    .uint32(3, completionId);
  if (callerGeneration !== undefined) w.uint64(4, callerGeneration);
  w.join();
}

/** Throws ProtoError when the bytes are not a message. */
export function readSink(bytes: Uint8Array): Sink {
  const r = new ProtoReader(bytes);
  let kind: Sink["kind"] = "call";
  let callerId = "" as InvocationId;
  let callerGeneration: number | undefined;
  let completionId = 0;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) kind = r.uint32() === 0 ? "call" : "attach";
    else if (tag >>> 3 === 2) callerId = r.string() as InvocationId;
    else if (tag >>> 3 === 3) completionId = r.uint32();
    else if (tag >>> 3 === 4) callerGeneration = r.uint64Number();
    else r.skip(tag & 7);
  }
  return { kind, callerId, callerGeneration, completionId };
}
