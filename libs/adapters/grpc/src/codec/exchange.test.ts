import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import {
  AnswerBatchSchema,
  type Answer as GeneratedAnswer,
  type Request as GeneratedRequest,
  RequestBatchSchema,
} from "../gen/v1/partitions_pb.js";
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

const REQUESTS: readonly ExchangeRequest[] = [
  { number: 1, body: { case: "invoke", value: { command: utf8("a command"), wait: true, resubmission: false, epoch: 7 } } },
  { number: 2, body: { case: "invoke", value: { command: long, wait: false, resubmission: true, epoch: undefined } } },
  { number: 0xffff_ffff, body: { case: "attach", value: "inv_1" } },
  { number: 4, body: { case: "submit", value: longer } },
  { number: 5, body: { case: "describe", value: "é".repeat(300) } },
  { number: 6, body: { case: "deliver", value: { producer: "p1", seq: 2 ** 40, command: utf8("c"), after: undefined } } },
  { number: 7, body: { case: "deliver", value: { producer: "p1", seq: 3, command: long, after: 0 } } },
  { number: 0, body: { case: "forget", value: 300 } },
  { number: 9, body: undefined },
];

const ANSWERS: readonly ExchangeResponse[] = [
  { number: 1, body: { case: "submitted", value: undefined } },
  { number: 2, body: { case: "submitted", value: long } },
  { number: 3, body: { case: "completed", value: { outcome: utf8("ok"), expiresAtMs: undefined } } },
  { number: 4, body: { case: "completed", value: { outcome: longer, expiresAtMs: 1_795_000_000_000 } } },
  { number: 5, body: { case: "notFound" } },
  { number: 6, body: { case: "unavailable", value: "why" } },
  { number: 7, body: { case: "notLeader" } },
  { number: 8, body: { case: "answer", value: utf8("an answer") } },
  { number: 9, body: { case: "invocation", value: new Uint8Array(0) } },
  { number: 0xffff_ffff, body: { case: "delivered" } },
  { number: 11, body: undefined },
];

function generatedRequest({ number, body }: ExchangeRequest): Pick<GeneratedRequest, "number" | "ask"> {
  if (body?.case === "invoke") {
    const { epoch, ...rest } = body.value;
    const value = { ...rest, ...(epoch === undefined ? {} : { epoch: BigInt(epoch) }) };
    return { number, ask: { case: "invoke", value } as GeneratedRequest["ask"] };
  }
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
      const { outcome, expiresAtMs } = body.value;
      const expires = expiresAtMs === undefined ? {} : { expiresAtMs: BigInt(expiresAtMs) };
      return { number, tell: of("completed", { outcome, ...expires }) };
    }
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

test("bytes that are no batch are refused", () => {
  const bytes = encodeRequests(REQUESTS);
  expect(() => decodeRequests(bytes.subarray(0, bytes.length - 1))).toThrow("beyond the end");
  expect(() => decodeAnswers(Uint8Array.of(0x0a))).toThrow("the message ends");
});
