import { describe, expect, test } from "@jest/globals";
import { fromUtf8, toBinaryString, utf8 } from "@perdure/base";
import {
  decodeCommand,
  decodeNotification,
  encodeCommand,
  encodeCompletion,
  encodeInput,
  type JournalCommand,
  MessageType,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { anInvocation } from "@perdure/state-machine/testing";
import { SECRETS_MAX } from "./limits.js";
import { type BundleSource, type RedactionRules, redactSource } from "./redact.js";

const RULES: RedactionRules = { isOn: true, added: [], kept: [], keepsOtherFormats: false };

const entry = (type: number, body: Uint8Array): JournalEntry => ({ type, body, appendedAtMs: 0 });
const command = (type: number, fields: JournalCommand): JournalEntry => entry(type, encodeCommand(fields));
const json = (value: unknown): Uint8Array => utf8(JSON.stringify(value));
const sourceOf = (...entries: JournalEntry[]): BundleSource => ({
  snapshot: { invocation: anInvocation("paused"), held: undefined, entries, events: [] },
  state: undefined,
});
const redacted = (source: BundleSource, rules: Partial<RedactionRules> = {}) => redactSource(source, { ...RULES, ...rules });

/** The input after redaction. */
async function inputAfter(value: Uint8Array, rules: Partial<RedactionRules> = {}): Promise<string> {
  const { snapshot } = await redacted(sourceOf(entry(MessageType.Input, encodeInput([], value))), rules);
  const [first] = snapshot.entries;
  const input = decodeCommand(MessageType.Input, first?.body ?? new Uint8Array());
  return input.kind === "input" ? fromUtf8(input.value) : input.kind;
}

describe("JSON payloads", () => {
  test.each([
    ["names of secrets", { password: "hunter22", user: "ada" }, { password: "********", user: "ada" }],
    [
      "camel case, snake case and words",
      { apiKey: "k1", access_token: "t", "x-api-key": "é" },
      { apiKey: "**", access_token: "*", "x-api-key": "**" },
    ],
    [
      "everything below such a name",
      { card: { number: 4111, exp: ["12", true, null] } },
      { card: { number: 1111, exp: ["**", true, null] } },
    ],
    ["numbers", { pin: -12.5e3, otp: 0 }, { pin: -11111, otp: 1 }],
    ["only whole words", { pinned: "yes", discarded: 1, spanner: "a" }, { pinned: "yes", discarded: 1, spanner: "a" }],
  ])("keep their shape: %s", async (_, before, after) => {
    expect(JSON.parse(await inputAfter(json(before)))).toEqual(after);
  });

  test.each<[what: string, before: unknown, hidden: readonly string[]]>([
    ["a card number that is a number", { amount: 4111111111111111 }, ["4111111111111111"]],
    ["the name of a field", { token: "s3cr3t-value", counts: { "s3cr3t-value": 1 } }, ["s3cr3t-value"]],
    ["JSON in a string", { body: JSON.stringify({ pin: "826401", note: "ok" }) }, ["826401"]],
    ["JSON in base64", { body: Buffer.from('{"password":"hunter22"}').toString("base64") }, ["aHVudGVyMjI", "eyJwYXNz"]],
    [
      "a value beside its name, in either order",
      [
        { name: "Authorization", value: "abc-def" },
        { values: ["ghi-jkl"], key: "api_key" },
      ],
      ["abc-def", "ghi-jkl"],
    ],
    [
      "a known secret in a URL and in base64",
      { password: "p&ss wörd", u: `/?p=${encodeURIComponent("p&ss wörd")}`, b: Buffer.from("p&ss wörd").toString("base64") },
      ["p%26ss", "cCZzcyB3"],
    ],
    ["a password with an @", { url: "https://ada:p@ss@host/x" }, ["p@ss", "ss@"]],
    ["a passphrase in quotes", { text: "passphrase: 'correct horse battery'" }, ["horse", "battery"]],
    [
      "plurals, and names in one word",
      { cards: ["x-1"], signingKeys: ["x-2"], sessiontoken: "x-3", ibans: ["x-4"] },
      ["x-1", "x-2", "x-3", "x-4"],
    ],
    [
      "tokens of known forms",
      { a: "sk-abcdefghijklmnop1234", b: "glpat-abcdefghijklmnop12", c: "https://h/?a=1&sig=abc%2Fdef&b=2" },
      ["abcdefghijklmnop", "abc%2Fdef"],
    ],
  ])("lose %s", async (_, before, hidden) => {
    const after = await inputAfter(json(before));
    JSON.parse(after);
    for (const text of hidden) expect(after).not.toContain(text);
  });

  test("lose a second secret in one string that is written with escapes", async () => {
    const after = await inputAfter(utf8('{"password":"hunter22","t":"hunter22 and \\u0068unter22"}'));
    expect(JSON.stringify(JSON.parse(after))).not.toContain("unter22");
  });

  test("do not take true and null for secrets of other payloads", async () => {
    expect(JSON.parse(await inputAfter(json({ auth: true, token: null, text: "true or null", flag: true })))).toMatchObject({
      text: "true or null",
      flag: true,
    });
  });

  test("keep their length, white space and order", async () => {
    const text = '{ "b" : [ 1 , {"token":"a\\"b\\u00e9"} ] ,\n "a":"}{" }';
    const after = await inputAfter(utf8(text));
    expect(after).toBe('{ "b" : [ 1 , {"token":"**********"} ] ,\n "a":"}{" }');
    expect(after).toHaveLength(text.length);
  });

  test("lose secrets that only their form shows", async () => {
    const before = {
      a: "Bearer abcdef123456",
      b: "sk_live_0123456789ab",
      c: "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
      d: "postgres://ada:hunter22@db/x",
      e: "4111 1111 1111 1111",
      f: "order 1234567890123, 0.4111111111111111 of it",
      g: "token=abc",
    };
    expect(JSON.parse(await inputAfter(json(before)))).toEqual({
      a: "*".repeat(19),
      b: "*".repeat(20),
      c: "*".repeat(before.c.length),
      d: "postgres://ada:********@db/x",
      e: "*".repeat(19),
      f: "order 1234567890123, 0.4111111111111111 of it",
      g: "token=***",
    });
  });

  test("keep what the user keeps, and lose what the user adds", async () => {
    const value = json({ token: "next-page", iban: "DE1", note: "x" });
    expect(JSON.parse(await inputAfter(value, { kept: ["Token"], added: ["note"] }))).toEqual({
      token: "next-page",
      iban: "***",
      note: "*",
    });
  });
});

test("payloads that are not JSON become asterisks of the same length, unless they are kept", async () => {
  const bytes = new Uint8Array([0, 1, 2, 255]);
  expect(await inputAfter(bytes)).toBe("****");
  expect(await inputAfter(bytes, { keepsOtherFormats: true })).toBe(fromUtf8(bytes));
  expect(await inputAfter(new Uint8Array())).toBe("");
});

test("a secret of one payload is found in others, in failures and in error messages", async () => {
  const run = command(MessageType.Run, { kind: "run", resultCompletionId: 1, name: "charge" });
  const failed = entry(
    MessageType.RunCompletion,
    encodeCompletion(1, { kind: "failure", failure: { code: 500, message: "no account for hunter22-x", metadata: [] } }),
  );
  const call = command(MessageType.Output, {
    kind: "output",
    name: "",
    result: { kind: "value", value: json({ greeting: "hi hunter22-x!" }) },
  });
  const input = entry(MessageType.Input, encodeInput([], json({ password: "hunter22-x" })));
  const source = sourceOf(input, run, failed, call);
  const error = {
    errorCode: "RT0007",
    code: 500,
    message: "wrong: hunter22-x",
    stacktrace: "Error: hunter22-x\n  at a.ts:1",
    relatedCommandIndex: 1,
    relatedCommandName: "charge",
    relatedCommandType: MessageType.Run,
  };
  const { snapshot } = await redacted({
    ...source,
    snapshot: { ...source.snapshot, events: [{ kind: "transientError", afterIndex: 1, atMs: 0, error }] },
  });
  const texts = snapshot.entries.map(({ body }) => fromUtf8(body)).join("\n") + JSON.stringify(snapshot.events);
  expect(texts).not.toContain("hunter22-x");
  expect(snapshot.events[0]?.error).toMatchObject({ message: "wrong: **********", stacktrace: "Error: **********\n  at a.ts:1" });
  expect(decodeNotification(MessageType.RunCompletion, snapshot.entries[2]?.body ?? new Uint8Array())).toMatchObject({
    result: { failure: { message: "no account for **********" } },
  });
});

test("the name of a step and the key of a state decide about their values", async () => {
  const run = command(MessageType.Run, { kind: "run", resultCompletionId: 1, name: "fetch token" });
  const done = entry(MessageType.RunCompletion, encodeCompletion(1, { kind: "value", value: json("abc") }));
  const set = command(MessageType.SetState, { kind: "setState", stateKey: utf8("apiKey"), value: json("xyz"), name: "" });
  const { snapshot, state } = await redacted({
    ...sourceOf(run, done, set),
    state: new Map([
      [toBinaryString(utf8("apiKey")), json("xyz")],
      ["n", json(1)],
    ]),
  });
  expect(snapshot.entries.map(({ body }) => fromUtf8(body)).join("")).not.toMatch(/abc|xyz/);
  expect([...(state ?? [])].map(([key, value]) => [key, fromUtf8(value)])).toEqual([
    ["apiKey", '"***"'],
    ["n", "1"],
  ]);
});

test("credentials in headers are replaced even without redaction, and what has no secret stays the same entry", async () => {
  const headers = [
    { key: "authorization", value: "Bearer abcdef" },
    { key: "Cookie", value: "sid=1" },
    { key: "traceparent", value: "00-1" },
  ];
  const input = entry(MessageType.Input, encodeInput(headers, json({ password: "p" })));
  const plain = command(MessageType.Run, { kind: "run", resultCompletionId: 1, name: "a" });
  const { snapshot, changed } = await redacted(sourceOf(input, plain), { isOn: false });
  expect(decodeCommand(MessageType.Input, snapshot.entries[0]?.body ?? new Uint8Array())).toMatchObject({
    headers: [
      { key: "authorization", value: "*************" },
      { key: "Cookie", value: "*****" },
      { key: "traceparent", value: "00-1" },
    ],
    value: json({ password: "p" }),
  });
  expect(changed).toBe(2);
  expect(snapshot.entries[1]).toBe(plain);
});

test("of an entry that cannot be decoded, the length is left", async () => {
  const damaged = entry(MessageType.SetState, new Uint8Array([0x0a, 0x7f]));
  expect((await redacted(sourceOf(damaged))).snapshot.entries[0]?.body).toEqual(utf8("**"));
  expect((await redacted(sourceOf(damaged), { isOn: false })).snapshot.entries[0]).toBe(damaged);
});

test("secrets beyond the limit are replaced at their fields, and counted because no text is searched for them", async () => {
  const secretOf = (n: number): string => `secret-number-${n}-of-many`;
  const tokens = Array.from({ length: SECRETS_MAX + 3 }, (_, n) => ({ token: secretOf(n) }));
  const text = `${secretOf(0)} ${secretOf(SECRETS_MAX - 1)} ${secretOf(SECRETS_MAX + 1)}`;
  const input = (value: unknown) => entry(MessageType.Input, encodeInput([], json(value)));
  const { snapshot, unsearched } = await redacted(sourceOf(input(tokens), input({ text })));
  const [first, second] = snapshot.entries.map(({ body }) => fromUtf8(body));
  expect(first).not.toContain("secret-number");
  expect(second).not.toContain(secretOf(SECRETS_MAX - 1));
  expect(second).toContain(secretOf(SECRETS_MAX + 1));
  expect(unsearched).toBe(3);
});
