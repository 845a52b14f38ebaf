/**
 * Messages of `Partitions.Exchange` as released versions send them (`recorder/record-exchange.ts`): every later version reads the same
 * values in them, and what it sends is read by those versions.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { fromBase64 } from "@perdure/base";
import { decodeAnswer, decodeFailure, encodeAnswer, encodeFailure } from "../src/codec/answers.js";
import { decodeHello, HELLO } from "../src/codec/capabilities.js";
import { decodeManagementCommand, encodeManagementCommand, isManagementCommand } from "../src/codec/commands.js";
import { decodeError, encodeError } from "../src/status.js";
import {
  decodeAnswerV01,
  decodeCommandV01,
  decodeFailureV01,
  encodeAnswerV01,
  encodeCommandV01,
  encodeFailureV01,
} from "../src/v01/exchange.js";
import { recordedJson, toBase64 } from "./recorded-json.js";

interface Recorded {
  readonly form: string;
  readonly bytes: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** `again` reads a message and returns its value, and the bytes in which this version sends that value. */
type Forms = Readonly<Record<string, (bytes: Uint8Array) => readonly [value: unknown, again: Uint8Array]>>;

function form<T>(decode: (bytes: Uint8Array) => T, encode: (value: T) => Uint8Array): Forms[string] {
  return (bytes) => {
    const value = decode(bytes);
    return [value, encode(value)];
  };
}

const V1: Forms = {
  command: form(decodeCommandV01, (command) => (isManagementCommand(command) ? encodeCommandV01(command) : new Uint8Array(0))),
  answer: form(decodeAnswerV01, encodeAnswerV01),
  failure: form(decodeFailureV01, encodeFailureV01),
};
const V2: Forms = {
  hello: form(decodeHello, () => HELLO),
  command: form(decodeManagementCommand, encodeManagementCommand),
  answer: form(decodeAnswer, encodeAnswer),
  failure: form(decodeFailure, encodeFailure),
  error: (bytes) => {
    const error = decodeError(bytes);
    return [{ code: error.code, detail: error.detail }, encodeError(error)];
  },
};

describe.each([
  ["v0.1", "exchange.v1.json", V1],
  ["this release", "exchange.v2.json", V2],
])("messages in the form of %s", (_release, file, forms) => {
  const recorded = JSON.parse(readFileSync(new URL(`../testdata/${file}`, import.meta.url), "utf8")) as readonly Recorded[];

  test.each(Object.entries(forms))("'%s' mean what was recorded, and are sent as they were", (name, read) => {
    const messages = recorded.filter(({ form }) => form === name);
    expect(messages.length).toBeGreaterThan(0);
    for (const { bytes, value } of messages) {
      const [present, again] = read(fromBase64(bytes));
      expect(recordedJson(present)).toEqual(value);
      expect(toBase64(again)).toBe(bytes);
    }
  });

  test("every kind is among the recorded ones", () => {
    const kindsOf = (name: string) => new Set(recorded.filter(({ form }) => form === name).map(({ value }) => value["kind"]));
    expect([kindsOf("command").size, kindsOf("answer").size]).toEqual([10, 16]);
  });
});
