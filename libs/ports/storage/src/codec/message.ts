/**
 * Codec of commands that travel between partitions, as an outbox stores them and as they are sent to another leader. Only commands that
 * one partition can send to another have a form here; attempts and operators send theirs to the leader directly.
 */
import {
  EMPTY_BYTES,
  InvariantError,
  type InvocationId,
  invariant,
  type OperationId,
  PerdureError,
  ProtoReader,
  ProtoWriter,
} from "@perdure/base";
import { decodeNotification, encodeNotification, isFault, MessageType } from "@perdure/service-protocol";
import type { InvocationFacts, PartitionCommand, Sink } from "@perdure/state-machine";
import { decodeFacts, encodeFacts } from "./facts.js";
import { readSink, writeSink } from "./sink.js";

export type OutboxCommand = Extract<
  PartitionCommand,
  { kind: "invoke" | "attach" | "queryOutput" | "notify" | "signal" | "kill" | "undo" }
>;
const KINDS: readonly OutboxCommand["kind"][] = ["invoke", "attach", "queryOutput", "notify", "signal", "kill", "undo"];
/** The same list, in which any command may be looked up. */
const ALL_KINDS: readonly PartitionCommand["kind"][] = KINDS;

const writer = new ProtoWriter();

export function encodeOutboxCommand(command: PartitionCommand): Uint8Array {
  const kind = ALL_KINDS.indexOf(command.kind);
  let encoded = EMPTY_BYTES; // Before the writer begins, which encodes one message at a time.
  if (command.kind === "invoke") encoded = command.facts.bytes ??= encodeFacts(command.facts);
  if (command.kind === "signal") encoded = encodeNotification(command.signal, command.result);
  const w = writer.reset().uint32(1, kind).string(2, command.id);
  switch (command.kind) {
    case "invoke":
      w.bytes(3, encoded).bytes(4, command.input);
      if (command.sink !== undefined) writeSink(w, 5, command.sink);
      break;
    case "attach":
      writeSink(w, 5, command.sink);
      break;
    case "queryOutput":
      writeSink(w, 5, {
        kind: "call",
        callerId: command.callerId,
        callerGeneration: command.callerGeneration,
        completionId: command.completionId,
      });
      break;
    case "notify":
      w.uint32(6, command.type).bytes(7, command.body);
      if (command.generation !== undefined) w.uint64(8, command.generation);
      if (command.endedBy !== undefined) w.string(9, command.endedBy);
      if (command.mayRepeat === true) w.uint64(10, 1);
      break;
    case "signal":
      w.bytes(7, encoded);
      break;
    case "kill":
      if (command.undo !== undefined) w.string(9, command.undo.operation).uint64(10, command.undo.untilMs);
      break;
    case "undo":
      if (command.sink !== undefined) writeSink(w, 5, command.sink);
      w.string(9, command.operation);
      break;
    default:
      throw new InvariantError(`a partition cannot send a ${command.kind} to another`);
  }
  return w.finish();
}

/** The fields of a stored command; those that it does not have are at their defaults. */
class StoredCommand {
  kind: OutboxCommand["kind"] | undefined = KINDS[0];
  id = "" as InvocationId;
  facts: InvocationFacts | undefined = undefined;
  input: Uint8Array | undefined = undefined;
  sink: Sink | undefined = undefined;
  type = 0;
  body: Uint8Array = new Uint8Array(0);
  generation: number | undefined = undefined;
  operation: OperationId | undefined = undefined;
  untilMs = 0;
}

function readFields(row: Uint8Array): StoredCommand {
  const r = new ProtoReader(row);
  const fields = new StoredCommand();
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        fields.kind = KINDS[r.uint32()];
        break;
      case 2:
        fields.id = r.string() as InvocationId;
        break;
      case 3:
        fields.facts = decodeFacts(r.bytes());
        break;
      case 4:
        fields.input = r.bytes();
        break;
      case 5:
        fields.sink = readSink(r.bytes());
        break;
      case 6:
        fields.type = r.uint32();
        break;
      case 7:
        fields.body = r.bytes();
        break;
      case 8:
        fields.generation = r.uint64Number();
        break;
      case 9:
        fields.operation = r.string() as OperationId;
        break;
      case 10:
        fields.untilMs = r.uint64Number();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return fields;
}

export function decodeOutboxCommand(row: Uint8Array): OutboxCommand {
  const { kind, id, facts, input, sink, type, body, generation, operation, untilMs } = readFields(row);
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
      return {
        kind,
        id,
        generation,
        type,
        body,
        ...(operation === undefined ? {} : { endedBy: operation }),
        ...(untilMs === 0 ? {} : { mayRepeat: true }),
      };
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
      return operation === undefined ? { kind, id } : { kind, id, undo: { operation, untilMs } };
    case "undo":
      invariant(operation !== undefined, "an undo in an outbox names its operation");
      return { kind, id, operation, sink };
    default:
      throw new PerdureError("STO0003", "a message between partitions has a kind that this version does not support");
  }
}
