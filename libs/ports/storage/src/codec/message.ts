/**
 * Codec of commands that travel between partitions, as an outbox stores them and as they are sent to another leader. Only commands that
 * one partition can send to another have a form here; attempts and operators send theirs to the leader directly.
 */
import { type InvocationId, invariant, PerdureError, ProtoReader, ProtoWriter } from "@perdure/base";
import { decodeNotification, encodeNotification, isFault, MessageType } from "@perdure/service-protocol";
import type { InvocationFacts, PartitionCommand, Sink } from "@perdure/state-machine";
import { decodeFacts, encodeFacts } from "./facts.js";
import { readSink, writeSink } from "./sink.js";

export type OutboxCommand = Extract<
  PartitionCommand,
  { kind: "invoke" | "attach" | "queryOutput" | "notify" | "signal" | "kill" }
>;
const KINDS: readonly OutboxCommand["kind"][] = ["invoke", "attach", "queryOutput", "notify", "signal", "kill"];

const writer = new ProtoWriter();

export function encodeOutboxCommand(command: PartitionCommand): Uint8Array {
  const kind = KINDS.indexOf(command.kind as OutboxCommand["kind"]);
  invariant(kind >= 0, `a partition cannot send a ${command.kind} to another`);
  const outboxCommand = command as OutboxCommand;
  let signal: Uint8Array | undefined;
  if (outboxCommand.kind === "invoke") outboxCommand.facts.bytes ??= encodeFacts(outboxCommand.facts);
  if (outboxCommand.kind === "signal") signal = encodeNotification(outboxCommand.signal, outboxCommand.result);
  const w = writer.reset().uint32(1, kind).string(2, outboxCommand.id);
  switch (outboxCommand.kind) {
    case "invoke":
      w.bytes(3, outboxCommand.facts.bytes as Uint8Array).bytes(4, outboxCommand.input);
      if (outboxCommand.sink !== undefined) writeSink(w, 5, outboxCommand.sink);
      break;
    case "attach":
      writeSink(w, 5, outboxCommand.sink);
      break;
    case "queryOutput":
      writeSink(w, 5, {
        kind: "call",
        callerId: outboxCommand.callerId,
        callerGeneration: outboxCommand.callerGeneration,
        completionId: outboxCommand.completionId,
      });
      break;
    case "notify":
      w.uint32(6, outboxCommand.type).bytes(7, outboxCommand.body);
      if (outboxCommand.generation !== undefined) w.uint64(8, outboxCommand.generation);
      break;
    case "signal":
      w.bytes(7, signal as Uint8Array);
      break;
    case "kill":
      break;
  }
  return w.finish();
}

export function decodeOutboxCommand(row: Uint8Array): OutboxCommand {
  const r = new ProtoReader(row);
  let kind: OutboxCommand["kind"] | undefined = KINDS[0]; // The default of the field.
  let id = "" as InvocationId;
  let facts: InvocationFacts | undefined;
  let input: Uint8Array | undefined;
  let sink: Sink | undefined;
  let type = 0;
  let body: Uint8Array = new Uint8Array(0);
  let generation: number | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        kind = KINDS[r.uint32()];
        break;
      case 2:
        id = r.string() as InvocationId;
        break;
      case 3:
        facts = decodeFacts(r.bytes());
        break;
      case 4:
        input = r.bytes();
        break;
      case 5:
        sink = readSink(r.bytes());
        break;
      case 6:
        type = r.uint32();
        break;
      case 7:
        body = r.bytes();
        break;
      case 8:
        generation = r.uint64Number();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  switch (kind) {
    case "invoke":
      invariant(facts !== undefined && input !== undefined, "an invoke in an outbox has facts and input");
      return { kind, id, facts, input, sink };
    case "attach":
      invariant(sink !== undefined, "an attach in an outbox has a sink");
      return { kind, id, sink };
    case "queryOutput":
      invariant(sink !== undefined, "a query in an outbox has a caller");
      return { kind, id, callerId: sink.callerId, callerGeneration: sink.callerGeneration, completionId: sink.completionId };
    case "notify":
      return { kind, id, generation, type, body };
    case "signal": {
      const decoded = decodeNotification(MessageType.Signal, body);
      invariant(!isFault(decoded) && decoded.id.kind !== "completion", "a signal in an outbox was encoded by this program");
      const { result } = decoded;
      invariant(
        result.kind === "void" || result.kind === "value" || result.kind === "failure",
        "signals carry void, value or failure",
      );
      return { kind, id, signal: decoded.id, result };
    }
    case "kill":
      return { kind, id };
    default:
      throw new PerdureError("STO0003", "a message between partitions has a kind that this version does not support");
  }
}
