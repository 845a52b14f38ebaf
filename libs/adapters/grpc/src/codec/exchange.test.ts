import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { StatusSchema } from "../gen/google/rpc/status_pb.js";
import { CommandAnswerSchema, FailureSchema, RemoteCommandSchema } from "../gen/v1/commands_pb.js";
import {
  AnswerBatchSchema,
  type Answer as GeneratedAnswer,
  type Request as GeneratedRequest,
  HelloSchema,
  RequestBatchSchema,
} from "../gen/v1/partitions_pb.js";
import { HELLO } from "./capabilities.js";
import {
  decodeAnswers,
  decodeRequests,
  type ExchangeRequest,
  type ExchangeResponse,
  encodeAnswers,
  encodeRequests,
} from "./exchange.js";

/** Longer than one byte of length can express, and than two can. */
const long = new Uint8Array(200).fill(7);
const longer = new Uint8Array(17_000).fill(7);

const command = toBinary(
  RemoteCommandSchema,
  create(RemoteCommandSchema, { invocationId: "inv_1", operation: { case: "kill", value: {} } }),
);
const commandAnswer = toBinary(CommandAnswerSchema, create(CommandAnswerSchema, { answer: { case: "kind", value: 2 } }));
const failure = toBinary(FailureSchema, create(FailureSchema, { code: 409, message: "killed" }));
const error = toBinary(StatusSchema, create(StatusSchema, { code: 10, message: "moved" }));

const REQUESTS: readonly ExchangeRequest[] = [
  {
    number: 1,
    body: {
      case: "invoke",
      value: {
        command: utf8("a command"),
        wait: true,
        resubmission: false,
        epoch: 7,
        throttle: { key: "k", periodMs: 60_000, limit: 3 },
      },
    },
  },
  {
    number: 2,
    body: { case: "invoke", value: { command: long, wait: false, resubmission: true, epoch: undefined, throttle: undefined } },
  },
  { number: 0xffff_ffff, body: { case: "attach", value: "inv_1" } },
  { number: 4, body: { case: "submit", value: longer } },
  { number: 5, body: { case: "describe", value: "é".repeat(300) } },
  { number: 6, body: { case: "deliver", value: { producer: "p1", seq: 2 ** 40, command: utf8("c"), after: undefined } } },
  { number: 7, body: { case: "deliver", value: { producer: "p1", seq: 3, command: long, after: 0 } } },
  { number: 0, body: { case: "forget", value: 300 } },
  { number: 9, body: undefined },
  { number: 0, body: { case: "hello", value: HELLO } },
  { number: 10, body: { case: "command", value: command } },
];

const ANSWERS: readonly ExchangeResponse[] = [
  { number: 1, body: { case: "submitted", value: undefined } },
  { number: 2, body: { case: "submitted", value: long } },
  { number: 3, body: { case: "completed", value: { outcome: utf8("ok"), expiresAtMs: undefined, failure: undefined } } },
  { number: 4, body: { case: "completed", value: { outcome: longer, expiresAtMs: 1_795_000_000_000, failure: undefined } } },
  { number: 5, body: { case: "notFound" } },
  { number: 6, body: { case: "unavailable", value: "why" } },
  { number: 7, body: { case: "notLeader" } },
  { number: 8, body: { case: "answer", value: utf8("an answer") } },
  { number: 9, body: { case: "invocation", value: new Uint8Array(0) } },
  { number: 0xffff_ffff, body: { case: "delivered" } },
  { number: 11, body: undefined },
  { number: 12, body: { case: "completed", value: { outcome: new Uint8Array(0), expiresAtMs: 5, failure } } },
  { number: 0, body: { case: "hello", value: HELLO } },
  { number: 13, body: { case: "commandAnswer", value: commandAnswer } },
  { number: 14, body: { case: "error", value: error } },
  { number: 15, body: { case: "throttled", value: { newestId: "inv_1", admittedCount: 3, retryAtMs: 1_795_000_000_000 } } },
];

function generatedRequest({ number, body }: ExchangeRequest): Pick<GeneratedRequest, "number" | "ask"> {
  if (body?.case === "invoke") {
    const { epoch, throttle, ...rest } = body.value;
    const value = {
      ...rest,
      ...(epoch === undefined ? {} : { epoch: BigInt(epoch) }),
      ...(throttle === undefined ? {} : { throttle: { ...throttle, periodMs: BigInt(throttle.periodMs) } }),
    };
    return { number, ask: { case: "invoke", value } as GeneratedRequest["ask"] };
  }
  if (body?.case === "hello") return { number, ask: { case: "hello", value: fromBinary(HelloSchema, body.value) } };
  if (body?.case === "command") return { number, ask: { case: "command", value: fromBinary(RemoteCommandSchema, body.value) } };
  if (body?.case !== "deliver") return { number, ask: (body ?? { case: undefined }) as GeneratedRequest["ask"] };
  const { producer, seq, command, after } = body.value;
  const value = { producer, seq: BigInt(seq), command, ...(after === undefined ? {} : { after: BigInt(after) }) };
  return { number, ask: { case: "deliver", value } as GeneratedRequest["ask"] };
}

function generatedAnswer({ number, body }: ExchangeResponse): Pick<GeneratedAnswer, "number" | "tell"> {
  const of = (name: string, value: object | string): GeneratedAnswer["tell"] =>
    ({ case: name, value }) as GeneratedAnswer["tell"];
  if (body === undefined) return { number, tell: { case: undefined } };
  switch (body.case) {
    case "submitted":
      return { number, tell: of("submitted", body.value === undefined ? {} : { previous: body.value }) };
    case "completed": {
      const { outcome, expiresAtMs, failure } = body.value;
      const expires = expiresAtMs === undefined ? {} : { expiresAtMs: BigInt(expiresAtMs) };
      const failed = failure === undefined ? {} : { failure: fromBinary(FailureSchema, failure) };
      return { number, tell: of("completed", { outcome, ...expires, ...failed }) };
    }
    case "throttled":
      return { number, tell: of("throttled", { ...body.value, retryAtMs: BigInt(body.value.retryAtMs) }) };
    case "hello":
      return { number, tell: { case: "hello", value: fromBinary(HelloSchema, body.value) } };
    case "commandAnswer":
      return { number, tell: { case: "commandAnswer", value: fromBinary(CommandAnswerSchema, body.value) } };
    case "error":
      return { number, tell: { case: "error", value: fromBinary(StatusSchema, body.value) } };
    default:
      return { number, tell: of(body.case, "value" in body ? body.value : {}) };
  }
}

test("requests have the bytes of the contract, alone and in a batch", () => {
  for (const batch of [...REQUESTS.map((request) => [request]), REQUESTS, []]) {
    const generated = create(RequestBatchSchema, { requests: batch.map(generatedRequest) });
    expect(decodeRequests(toBinary(RequestBatchSchema, generated))).toEqual(batch);
    expect(fromBinary(RequestBatchSchema, encodeRequests(batch))).toEqual(generated);
    expect(decodeRequests(encodeRequests(batch))).toEqual(batch);
  }
});

test("answers have the bytes of the contract, alone and in a batch", () => {
  for (const batch of [...ANSWERS.map((answer) => [answer]), ANSWERS, []]) {
    const generated = create(AnswerBatchSchema, { answers: batch.map(generatedAnswer) });
    expect(decodeAnswers(toBinary(AnswerBatchSchema, generated))).toEqual(batch);
    expect(fromBinary(AnswerBatchSchema, encodeAnswers(batch))).toEqual(generated);
    expect(decodeAnswers(encodeAnswers(batch))).toEqual(batch);
  }
});

test("what a later version adds is passed over", () => {
  // Field 15 of the batch, of a request and of an answer; a request of a kind that is field 12.
  const extra = [0x7a, 2, 1, 1];
  const fields = [0x08, 9, 0x38, 5, ...extra];
  expect(decodeRequests(Uint8Array.from([...extra, 0x0a, fields.length, ...fields, 0x0a, 4, 0x08, 3, 0x62, 0]))).toEqual([
    { number: 9, body: { case: "forget", value: 5 } },
    { number: 3, body: undefined },
  ]);
  expect(decodeAnswers(Uint8Array.from([0x0a, 6, 0x08, 9, ...extra, ...extra]))).toEqual([{ number: 9, body: undefined }]);
});

test("what is decoded does not change with the bytes it came from", () => {
  const bytes = encodeRequests([{ number: 1, body: { case: "submit", value: utf8("kept") } }]);
  const [request] = decodeRequests(bytes);
  bytes.fill(0);
  expect(request).toEqual({ number: 1, body: { case: "submit", value: utf8("kept") } });
});

test("bytes that are not a batch are refused", () => {
  const bytes = encodeRequests(REQUESTS);
  expect(() => decodeRequests(bytes.subarray(0, bytes.length - 1))).toThrow("beyond the end");
  expect(() => decodeAnswers(Uint8Array.of(0x0a))).toThrow("the message ends");
});
