import { describe, expect, test } from "@jest/globals";
import { narrowJson, wideJson } from "./json-text.js";
import { bytesOf, sameBytes, shownValue, sizeText, valueAs } from "./state-values.js";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("JSON", () => {
  test("is shown wide and stored narrow", () => {
    const { form, text } = shownValue(bytes('{"a":[1,{"b":"x, y"}],"c":{},"d":[]}'));
    expect(form).toBe("json");
    expect(text).toBe(JSON.stringify(JSON.parse('{"a":[1,{"b":"x, y"}],"c":{},"d":[]}'), null, 2));
    expect(bytesOf(text, "json")).toEqual({ ok: true, bytes: bytes('{"a":[1,{"b":"x, y"}],"c":{},"d":[]}') });
  });

  test("keeps what JavaScript would lose", () => {
    const text = '{"n":12345678901234567890,"f":1.10,"n":2,"s":"\\u00e9 \\" }"}';
    expect(narrowJson(wideJson(text))).toBe(text);
  });

  test("that is none is refused", () => {
    expect(bytesOf("{a:1}", "json")).toMatchObject({ ok: false });
  });
});

test("text that is not JSON stays text, bytes that are not text become digits", () => {
  expect(shownValue(bytes("hello"))).toEqual({ form: "text", text: "hello" });
  expect(shownValue(Uint8Array.of(0, 255))).toEqual({ form: "hex", text: "00 ff" });
  expect(shownValue(Uint8Array.of(1))).toEqual({ form: "hex", text: "01" });
  expect(valueAs(Uint8Array.of(0xff), "text")).toBeUndefined();
  expect(valueAs(bytes("hello"), "json")).toBeUndefined();
});

test("digits are read with or without spaces, and nothing else", () => {
  expect(bytesOf("00 fF\n41", "hex")).toEqual({ ok: true, bytes: Uint8Array.of(0, 255, 65) });
  expect(bytesOf("0", "hex")).toMatchObject({ ok: false });
  expect(bytesOf("zz", "hex")).toMatchObject({ ok: false });
});

test("sizes have a unit that fits", () => {
  expect([0, 1023, 1536, 20 * 1024, 3 * 1024 * 1024].map(sizeText)).toEqual(["0 B", "1023 B", "1.5 KiB", "20 KiB", "3.0 MiB"]);
});

test("absent equals only absent", () => {
  expect(sameBytes(undefined, undefined)).toBe(true);
  expect(sameBytes(undefined, new Uint8Array())).toBe(false);
  expect(sameBytes(bytes("a"), bytes("b"))).toBe(false);
});
