import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import { decodeStart, type JournalCommand, MessageType } from "@perdure/service-protocol";
import { completedJournal, input, ran, rest, returns, run, sleep, step, twoSteps, World } from "../testing/replay-world.js";
import { CHECK_HEADER } from "./send-replay.js";

/** What a replay resolves with, and the steps that the endpoint executed. */
async function replayOf(steps: Parameters<World["play"]>[0]["steps"], ...replay: Parameters<World["replayTo"]>) {
  const world = new World();
  const sdk = world.play({ steps });
  const result = await world.replayTo(...replay);
  return { ...result, performed: sdk.performed, world };
}

const label = (type: string, name: string) => ({ type, name });

describe("a part of the journal", () => {
  test("ends with the handler's next command, which is not executed", async () => {
    for (const [commands, name] of [
      [0, "a"],
      [1, "a"],
      [2, "b"],
    ] as const) {
      const { end, isEnd, performed, ...rest } = await replayOf(twoSteps, completedJournal, { commands });
      expect([end, isEnd, performed, rest.commands]).toEqual([
        { kind: "requests", command: label("Run", name), expected: label("Run", name) },
        false,
        [],
        Math.max(1, commands),
      ]);
    }
  });

  test("has results of its steps that were stored behind it", async () => {
    const journal = [input, run("a", 1), run("b", 2), ran(2), ran(1)];
    const { world } = await replayOf(twoSteps, journal, { commands: 2 });
    expect(world.frameTypes[0]).toEqual([
      MessageType.Start,
      MessageType.Input,
      MessageType.Run,
      MessageType.CompleteAwakeable,
      MessageType.RunCompletion,
    ]);
  });

  test("shows where the code parts from the journal", async () => {
    const { end } = await replayOf([...step("a", 1), ...step("c", 2)], completedJournal, { commands: 2 });
    expect(end).toEqual({ kind: "requests", command: label("Run", "c"), expected: label("Run", "b") });
    const earlier = await replayOf([...step("c", 1), ...step("b", 2)], completedJournal);
    expect(earlier.end).toMatchObject({
      kind: "mismatch",
      commandIndex: 1,
      expected: label("Run", "a"),
      actual: label("Run", "c"),
    });
  });
});

describe("the whole journal", () => {
  test("ends with the result, compared with the Output", async () => {
    const { end, isEnd } = await replayOf(twoSteps, completedJournal, { isCompleted: true });
    expect([end, isEnd]).toEqual([expect.objectContaining({ kind: "returns", isSame: true }), true]);
    const other = await replayOf([...step("a", 1), ...step("b", 2), returns("else")], completedJournal);
    expect(other.end).toMatchObject({ kind: "returns", isSame: false });
  });

  test("ends with the error of the handler", async () => {
    const { end } = await replayOf([...step("a", 1), { fail: "broken" }], [input, run("a", 1), ran(1)]);
    expect(end).toMatchObject({ kind: "failed", error: { errorCode: "RT0007", message: "broken" } });
  });

  test("ends with what the handler waits for", async () => {
    const { end } = await replayOf([...rest("nap", 1), returns("x")], [input, sleep("nap", 1)]);
    expect(end).toMatchObject({ kind: "waits", awaiting: { completions: [1] } });
  });

  test("that the code no longer follows, because it waits, is a mismatch", async () => {
    const { end } = await replayOf([...rest("nap", 1), ...step("a", 2)], [input, sleep("nap", 1), run("a", 2)]);
    expect(end).toMatchObject({ kind: "mismatch", commandIndex: 2, expected: label("Run", "a"), actual: undefined });
  });
});

describe("a step without a result", () => {
  const steps = [...step("a", 1), ...step("b", 2), { fail: "at the end" }];

  test("is not executed", async () => {
    const { end, isEnd, performed } = await replayOf(steps, [input, run("a", 1), ran(1), run("b", 2)]);
    expect([end.kind, isEnd, performed]).toEqual(["requests", true, []]);
  });

  test.each([
    ["that the journal has", [input, run("a", 1), ran(1), run("b", 2)]],
    ["that the journal does not have", [input, run("a", 1), ran(1)]],
  ])("%s is executed on request, and the replay continues with its result", async (_, journal) => {
    const { end, executed, performed, commands } = await replayOf(steps, journal, { executesSteps: true });
    expect(end).toMatchObject({ kind: "failed", error: { message: "at the end" } });
    expect(executed).toEqual([{ name: "b", result: { kind: "value", value: new Uint8Array([0x72]) } }]);
    expect([performed, commands]).toEqual([["b"], 3]);
  });

  test("of another name is a difference, and is not executed", async () => {
    const { end, performed } = await replayOf([...step("c", 1)], [input, run("a", 1)], { executesSteps: true });
    expect([end, performed]).toEqual([{ kind: "requests", command: label("Run", "c"), expected: label("Run", "a") }, []]);
  });
});

describe("a read of state at the end of the journal", () => {
  const read: JournalCommand = { kind: "getEagerState", stateKey: utf8("plan"), result: { kind: "void" }, name: "" };
  const steps = [{ do: read }, ...step("a", 1), { do: read }, { fail: "no plan" }];

  test("ends the replay, because a step may come behind it", async () => {
    const { end, canContinue, performed } = await replayOf(steps, [input]);
    expect([end, canContinue, performed]).toEqual([
      { kind: "requests", command: { type: "GetEagerState", name: undefined }, expected: undefined },
      true,
      [],
    ]);
  });

  test("is passed where steps are executed, which finds the error behind it", async () => {
    const { end, canContinue, performed, executed } = await replayOf(steps, [input], { executesSteps: true });
    expect(end).toMatchObject({ kind: "failed", error: { errorCode: "RT0007", message: "no plan" } });
    expect([canContinue, performed, executed.map(({ name }) => name)]).toEqual([false, ["a"], ["a"]]);
    const { end: sooner } = await replayOf([{ do: read }, { fail: "no plan" }], [input], { executesSteps: true });
    expect(sooner).toMatchObject({ kind: "failed", error: { message: "no plan" } });
  });

  test("is a difference where the journal has a step", async () => {
    const { end, canContinue, performed } = await replayOf(steps, [input, run("a", 1)], { executesSteps: true });
    expect([end, canContinue, performed]).toEqual([
      { kind: "requests", command: { type: "GetEagerState", name: undefined }, expected: label("Run", "a") },
      false,
      [],
    ]);
  });
});

test("the request is that of an attempt without a time limit, and is not marked as a check", async () => {
  const { world } = await replayOf(twoSteps, completedJournal, {
    state: new Map([["k", new Uint8Array([1])]]),
    isStatePartial: true,
  });
  const [stream] = world.transport.streams;
  expect(stream?.request.headers).not.toHaveProperty(CHECK_HEADER);
  expect(decodeStart(stream?.frames[0]?.body ?? new Uint8Array())).toMatchObject({ partialState: true, state: [{}] });
  const silent = new World();
  const pending = silent.replayTo(completedJournal);
  await Promise.resolve();
  expect(silent.clock.pendingTimers).toBe(0);
  silent.transport.last.listener.failed({ kind: "reset", message: "gone" });
  expect((await pending).end).toMatchObject({ kind: "failed", error: { errorCode: "RT0010" } });
});
