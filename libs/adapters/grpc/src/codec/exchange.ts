/**
 * Writes and reads `RequestBatch` and `AnswerBatch` of `proto/control/v1/partitions.proto` by hand, with the same bytes as the generated
 * code: these batches carry every invocation twice, and the generated codec costs several times what these few fields need. A test compares
 * the two. Messages that are rare (commands, failures, errors) are bytes here: their modules decode them with the generated code.
 */
import { copyBytes, EMPTY_BYTES, ProtoReader, ProtoWriter, unreachable } from "@perdure/base";
import {
  readThrottle,
  readThrottled,
  type ThrottleBody,
  type ThrottledBody,
  writeThrottle,
  writeThrottled,
} from "./throttle-bodies.js";

interface InvokeBody {
  readonly command: Uint8Array;
  readonly wait: boolean;
  readonly resubmission: boolean;
  /** Epoch of the leader that the request is sent to. */
  readonly epoch: number | undefined;
  readonly throttle: ThrottleBody | undefined;
}

interface DeliverBody {
  readonly producer: string;
  readonly seq: number;
  readonly command: Uint8Array;
  readonly after: number | undefined;
}

export type ExchangeRequestBody =
  | { readonly case: "invoke"; readonly value: InvokeBody }
  | { readonly case: "attach"; readonly value: string }
  | { readonly case: "submit"; readonly value: Uint8Array }
  | { readonly case: "describe"; readonly value: string }
  | { readonly case: "deliver"; readonly value: DeliverBody }
  | { readonly case: "forget"; readonly value: number }
  /** A `Hello`, see `capabilities.ts`. */
  | { readonly case: "hello"; readonly value: Uint8Array }
  /** A `RemoteCommand`, see `commands.ts`. */
  | { readonly case: "command"; readonly value: Uint8Array };

/** `body` is undefined when this version does not have the kind of request. */
export interface ExchangeRequest {
  readonly number: number;
  readonly body: ExchangeRequestBody | undefined;
}

export interface CompletedResponse {
  /** Empty when there is a failure. */
  readonly outcome: Uint8Array;
  readonly expiresAtMs: number | undefined;
  /** A `Failure`, see `answers.ts`. */
  readonly failure: Uint8Array | undefined;
}

export type ExchangeResponseBody =
  /** The invocation that existed already, in its stored form. */
  | { readonly case: "submitted"; readonly value: Uint8Array | undefined }
  | { readonly case: "completed"; readonly value: CompletedResponse }
  | { readonly case: "notFound" }
  | { readonly case: "unavailable"; readonly value: string }
  | { readonly case: "notLeader" }
  | { readonly case: "answer"; readonly value: Uint8Array }
  | { readonly case: "invocation"; readonly value: Uint8Array }
  | { readonly case: "delivered" }
  /** A `Hello`. */
  | { readonly case: "hello"; readonly value: Uint8Array }
  /** A `CommandAnswer`, see `answers.ts`. */
  | { readonly case: "commandAnswer"; readonly value: Uint8Array }
  /** A `google.rpc.Status`, see `status.ts`. */
  | { readonly case: "error"; readonly value: Uint8Array }
  | { readonly case: "throttled"; readonly value: ThrottledBody };

/** `body` is undefined when this version does not have the kind of answer. */
export interface ExchangeResponse {
  readonly number: number;
  readonly body: ExchangeResponseBody | undefined;
}

const NOT_FOUND: ExchangeResponseBody = { case: "notFound" };
const NOT_LEADER: ExchangeResponseBody = { case: "notLeader" };
const DELIVERED: ExchangeResponseBody = { case: "delivered" };

const writer = new ProtoWriter();

// ── requests ─────────────────────────────────────────────────────────────────────────────────────

export function encodeRequests(requests: readonly ExchangeRequest[]): Buffer {
  writer.reset();
  for (const { number, body } of requests) {
    writer.fork(1).uint32(1, number);
    if (body !== undefined) writeRequestBody(body);
    writer.join();
  }
  return asBuffer(writer.finish());
}

function writeRequestBody(body: ExchangeRequestBody): void {
  switch (body.case) {
    case "invoke":
      writer.fork(2).bytes(1, body.value.command);
      if (body.value.wait) writer.bool(2, true);
      if (body.value.resubmission) writer.bool(3, true);
      if (body.value.epoch !== undefined) writer.uint64(4, body.value.epoch);
      if (body.value.throttle !== undefined) writeThrottle(writer, body.value.throttle);
      writer.join();
      return;
    case "attach":
      writer.string(3, body.value);
      return;
    case "submit":
      writer.bytes(4, body.value);
      return;
    case "describe":
      writer.string(5, body.value);
      return;
    case "deliver":
      writer.fork(6).string(1, body.value.producer).uint64(2, body.value.seq).bytes(3, body.value.command);
      if (body.value.after !== undefined) writer.uint64(4, body.value.after);
      writer.join();
      return;
    case "forget":
      writer.uint32(7, body.value);
      return;
    case "hello":
      writer.bytes(8, body.value);
      return;
    case "command":
      writer.bytes(9, body.value);
      return;
    default:
      unreachable(body);
  }
}

/** Throws ProtoError when the bytes are not a batch. What it returns has memory of its own: it outlives the batch. */
export function decodeRequests(bytes: Uint8Array): ExchangeRequest[] {
  const r = new ProtoReader(bytes);
  const requests: ExchangeRequest[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === tagOf(1)) requests.push(readRequest(inside(r)));
    else r.skip(tag & 7);
  }
  return requests;
}

function readRequest(r: ProtoReader): ExchangeRequest {
  let number = 0;
  let body: ExchangeRequestBody | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        number = r.uint32();
        break;
      case 2:
        body = { case: "invoke", value: readInvoke(inside(r)) };
        break;
      case 3:
        body = { case: "attach", value: r.string() };
        break;
      case 4:
        body = { case: "submit", value: ownBytes(r) };
        break;
      case 5:
        body = { case: "describe", value: r.string() };
        break;
      case 6:
        body = { case: "deliver", value: readDeliver(inside(r)) };
        break;
      case 7:
        body = { case: "forget", value: r.uint32() };
        break;
      case 8:
        body = { case: "hello", value: ownBytes(r) };
        break;
      case 9:
        body = { case: "command", value: ownBytes(r) };
        break;
      default:
        r.skip(tag & 7);
    }
  }
  return { number, body };
}

function readInvoke(r: ProtoReader): InvokeBody {
  let command = EMPTY_BYTES;
  let wait = false;
  let resubmission = false;
  let epoch: number | undefined;
  let throttle: ThrottleBody | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) command = ownBytes(r);
    else if (tag >>> 3 === 2) wait = r.bool();
    else if (tag >>> 3 === 3) resubmission = r.bool();
    else if (tag >>> 3 === 4) epoch = r.uint64Number();
    else if (tag >>> 3 === 5) throttle = readThrottle(inside(r));
    else r.skip(tag & 7);
  }
  return { command, wait, resubmission, epoch, throttle };
}

function readDeliver(r: ProtoReader): DeliverBody {
  let producer = "";
  let seq = 0;
  let command = EMPTY_BYTES;
  let after: number | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) producer = r.string();
    else if (tag >>> 3 === 2) seq = r.uint64Number();
    else if (tag >>> 3 === 3) command = ownBytes(r);
    else if (tag >>> 3 === 4) after = r.uint64Number();
    else r.skip(tag & 7);
  }
  return { producer, seq, command, after };
}

// ── answers ──────────────────────────────────────────────────────────────────────────────────────

export function encodeAnswers(answers: readonly ExchangeResponse[]): Buffer {
  writer.reset();
  for (const { number, body } of answers) {
    writer.fork(1).uint32(1, number);
    if (body !== undefined) writeResponseBody(body);
    writer.join();
  }
  return asBuffer(writer.finish());
}

function writeResponseBody(body: ExchangeResponseBody): void {
  switch (body.case) {
    case "submitted":
      writer.fork(2);
      if (body.value !== undefined) writer.bytes(1, body.value);
      writer.join();
      return;
    case "completed":
      writer.fork(3).bytes(1, body.value.outcome);
      if (body.value.expiresAtMs !== undefined) writer.uint64(2, body.value.expiresAtMs);
      if (body.value.failure !== undefined) writer.bytes(3, body.value.failure);
      writer.join();
      return;
    case "notFound":
      writer.fork(4).join();
      return;
    case "unavailable":
      writer.string(5, body.value);
      return;
    case "notLeader":
      writer.fork(6).join();
      return;
    case "answer":
      writer.bytes(7, body.value);
      return;
    case "invocation":
      writer.bytes(8, body.value);
      return;
    case "delivered":
      writer.fork(9).join();
      return;
    case "hello":
      writer.bytes(10, body.value);
      return;
    case "commandAnswer":
      writer.bytes(11, body.value);
      return;
    case "error":
      writer.bytes(12, body.value);
      return;
    case "throttled":
      writeThrottled(writer, body.value);
      return;
    default:
      unreachable(body);
  }
}

/** Reads an answer batch; see `decodeRequests`. */
export function decodeAnswers(bytes: Uint8Array): ExchangeResponse[] {
  const r = new ProtoReader(bytes);
  const answers: ExchangeResponse[] = [];
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag === tagOf(1)) answers.push(readAnswer(inside(r)));
    else r.skip(tag & 7);
  }
  return answers;
}

function readAnswer(r: ProtoReader): ExchangeResponse {
  let number = 0;
  let body: ExchangeResponseBody | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        number = r.uint32();
        break;
      case 2:
        body = { case: "submitted", value: readSubmitted(inside(r)) };
        break;
      case 3:
        body = { case: "completed", value: readCompleted(inside(r)) };
        break;
      case 5:
        body = { case: "unavailable", value: r.string() };
        break;
      case 7:
        body = { case: "answer", value: ownBytes(r) };
        break;
      case 8:
        body = { case: "invocation", value: ownBytes(r) };
        break;
      case 10:
        body = { case: "hello", value: ownBytes(r) };
        break;
      case 11:
        body = { case: "commandAnswer", value: ownBytes(r) };
        break;
      case 12:
        body = { case: "error", value: ownBytes(r) };
        break;
      case 13:
        body = { case: "throttled", value: readThrottled(inside(r)) };
        break;
      default:
        if (tag === tagOf(4)) body = NOT_FOUND;
        else if (tag === tagOf(6)) body = NOT_LEADER;
        else if (tag === tagOf(9)) body = DELIVERED;
        r.skip(tag & 7);
    }
  }
  return { number, body };
}

function readSubmitted(r: ProtoReader): Uint8Array | undefined {
  let previous: Uint8Array | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) previous = ownBytes(r);
    else r.skip(tag & 7);
  }
  return previous;
}

function readCompleted(r: ProtoReader): CompletedResponse {
  let outcome = EMPTY_BYTES;
  let expiresAtMs: number | undefined;
  let failure: Uint8Array | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) outcome = ownBytes(r);
    else if (tag >>> 3 === 2) expiresAtMs = r.uint64Number();
    else if (tag >>> 3 === 3) failure = ownBytes(r);
    else r.skip(tag & 7);
  }
  return { outcome, expiresAtMs, failure };
}

// ── bytes ────────────────────────────────────────────────────────────────────────────────────────

function tagOf(field: number): number {
  return (field << 3) | 2;
}

function inside(r: ProtoReader): ProtoReader {
  const { start, end } = r.message();
  return new ProtoReader(r.buf, start, end);
}

function ownBytes(r: ProtoReader): Uint8Array {
  const { start, end } = r.message();
  return copyBytes(r.buf, start, end);
}

/** A view, not a copy. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
