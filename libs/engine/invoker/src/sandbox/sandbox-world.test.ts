import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import {
  type CallCommand,
  commandTypeOf,
  decodeNotification,
  encodeCommand,
  encodeCompletion,
  encodeNotification,
  isFault,
  type JournalCommand,
  MessageType,
  voidResult,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { type SandboxAnswer, type SandboxStub, SandboxWorld } from "./sandbox-world.js";

const entry = (type: number, body: Uint8Array): JournalEntry => ({ type, body, appendedAtMs: 0 });
const made = (command: JournalCommand) => entry(commandTypeOf[command.kind], encodeCommand(command));
const value = (text: string) => ({ kind: "value", value: utf8(text) }) as const;
const called = (id: number, text: string) => entry(MessageType.CallCompletion, encodeCompletion(id, value(text)));
const name = "";

const callOf = (parameter: string, resultCompletionId: number, handlerName = "price"): CallCommand => ({
  kind: "call",
  serviceName: "Stock",
  handlerName,
  key: "",
  parameter: utf8(parameter),
  headers: [],
  idempotencyKey: undefined,
  scope: undefined,
  limitKey: undefined,
  invocationIdNotificationIdx: 100 + resultCompletionId,
  resultCompletionId,
  name,
});
const INPUT = made({ kind: "input", headers: [], value: utf8("in"), name });
const SOURCE = [INPUT, made(callOf("a", 1)), called(1, "1"), made(callOf("b", 2)), called(2, "2")];

function world(
  change: {
    source?: readonly JournalEntry[];
    kept?: readonly JournalEntry[];
    stubs?: readonly SandboxStub[];
    keepSleeps?: boolean;
  } = {},
  state: ReadonlyMap<string, Uint8Array> = new Map(),
) {
  const clock = new VirtualClock();
  const { source = SOURCE, kept = [INPUT], stubs = [], keepSleeps = false } = change;
  return { clock, world: new SandboxWorld({ clock, random: new SeededRandom(1), stubs, keepSleeps }, source, kept, state) };
}

/** The last completion, as text. */
function resultOf(answer: SandboxAnswer): unknown {
  if ("gap" in answer) return answer;
  const last = answer.completions.at(-1);
  const decoded = last === undefined ? undefined : decodeNotification(last.type, last.body);
  if (decoded === undefined || isFault(decoded)) return undefined;
  return decoded.result.kind === "value" ? Buffer.from(decoded.result.value).toString() : decoded.result;
}

describe("a call in a sandbox", () => {
  test("gets the result of the call with the same input, else of the next one, each once", () => {
    const { world: sandbox } = world();
    expect(resultOf(sandbox.answer(callOf("b", 7)))).toBe("2");
    expect(resultOf(sandbox.answer(callOf("other", 8)))).toBe("1");
    expect(resultOf(sandbox.answer(callOf("b", 9)))).toEqual({ gap: "call of Stock/price" });
    expect(sandbox.unsent).toHaveLength(2);
  });

  test("does not get the result of one that was kept", () => {
    const { world: sandbox } = world({ kept: SOURCE.slice(0, 3) });
    expect(resultOf(sandbox.answer(callOf("a", 7)))).toBe("2");
  });

  test("prefers a stub, as often as it is made", () => {
    const { world: sandbox } = world({ stubs: [{ service: "Stock", handler: "price", result: value("7") }] });
    for (const id of [7, 8, 9]) expect(resultOf(sandbox.answer(callOf("a", id)))).toBe("7");
    expect(sandbox.unsent[0]).toEqual({ kind: "call", target: "Stock/price", answeredBy: "stub" });
    expect(resultOf(sandbox.answer(callOf("a", 10, "count")))).toEqual({ gap: "call of Stock/count" });
  });
});

describe("the state in a sandbox", () => {
  const stateKey = utf8("n");
  const SET = made({ kind: "setState", stateKey, value: utf8("5"), name });

  test("begins with what the source read, and has the writes of what was kept", () => {
    const now = new Map([
      ["n", utf8("9")],
      ["m", utf8("8")],
    ]);
    const source = [INPUT, made({ kind: "getEagerState", stateKey, result: value("4"), name }), SET];
    expect(Buffer.from(world({ source }, now).world.state.get("n") ?? "").toString()).toBe("4");
    expect(Buffer.from(world({ source }, now).world.state.get("m") ?? "").toString()).toBe("8");
    expect(Buffer.from(world({ source, kept: source }, now).world.state.get("n") ?? "").toString()).toBe("5");
    expect(Buffer.from(now.get("n") ?? "").toString()).toBe("9");
  });

  test("is read and written by the handler", () => {
    const { world: sandbox } = world();
    const read = { kind: "getLazyState", stateKey, resultCompletionId: 3, name } as const;
    expect(resultOf(sandbox.answer(read))).toEqual(voidResult);
    sandbox.answer({ kind: "setState", stateKey, value: utf8("6"), name });
    expect(resultOf(sandbox.answer(read))).toBe("6");
    sandbox.answer({ kind: "clearAllState", name });
    expect(resultOf(sandbox.answer(read))).toEqual(voidResult);
  });
});

test("a sleep ends at once, or when its time has come", () => {
  const sleep = { kind: "sleep", wakeUpTimeMs: 5_000, resultCompletionId: 3, name } as const;
  expect(resultOf(world().world.answer(sleep))).toEqual(voidResult);
  const { clock, world: kept } = world({ keepSleeps: true });
  const wakeUpTimeMs = clock.nowMs() + 5_000;
  expect(kept.answer({ ...sleep, wakeUpTimeMs })).toEqual({ completions: [] });
  expect([kept.nextWakeUpMs, kept.ended()]).toEqual([wakeUpTimeMs, []]);
});

test("promises and signals are those of the source", () => {
  const promise = { kind: "getPromise", key: "p", resultCompletionId: 1, name } as const;
  const signal = { kind: "signalIndex", index: 17 } as const;
  const source = [
    INPUT,
    made(promise),
    entry(MessageType.GetPromiseCompletion, encodeCompletion(1, value("kept"))),
    entry(MessageType.Signal, encodeNotification(signal, voidResult)),
  ];
  const { world: sandbox } = world({ source });
  expect(sandbox.signal(signal)).toBe(source[3]);
  expect(sandbox.signal({ kind: "signalIndex", index: 18 })).toBeUndefined();
  expect(resultOf(sandbox.answer({ ...promise, resultCompletionId: 5 }))).toBe("kept");
  expect(resultOf(sandbox.answer({ ...promise, resultCompletionId: 6 }))).toEqual({ gap: "getPromise of p" });
});
