import { describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import type { RequestIdentity } from "@perdure/endpoint-transport";
import type { FakeStream } from "@perdure/endpoint-transport/testing";
import { decodeCommand, decodeStart, MessageType, type StartMessage } from "@perdure/service-protocol";
import type { InvocationFacts } from "@perdure/state-machine";
import { aTarget, someFacts } from "../testing/index.js";
import {
  awaiting,
  completedJournal,
  entry,
  input,
  output,
  ran,
  rest,
  resultOf,
  returns,
  run,
  sleep,
  sleepCommand,
  slept,
  step,
  twoSteps,
  World,
} from "../testing/replay-world.js";

describe("a completed invocation", () => {
  test("replays to its end, and gives the same output", async () => {
    expect(await resultOf(twoSteps, completedJournal, { isCompleted: true })).toEqual({
      result: { kind: "compatible", output: "same" },
      performed: [],
      requests: 2,
    });
  });

  test("that would end with another output is compatible, and reported as different", async () => {
    const { result } = await resultOf([...step("a", 1), ...step("b", 2), returns("else")], completedJournal, {
      isCompleted: true,
    });
    expect(result).toEqual({ kind: "compatible", output: "differs" });
  });

  test("is compatible with a new step at the end, which is not performed", async () => {
    const steps = [...step("a", 1), ...step("b", 2), ...step("c", 3), returns("done")];
    expect(await resultOf(steps, completedJournal, { isCompleted: true })).toEqual({
      result: { kind: "compatible", output: undefined },
      performed: [],
      requests: 1,
    });
  });

  test("reports where steps changed places", async () => {
    const { result, performed } = await resultOf([...step("b", 1), ...step("a", 2), returns("done")], completedJournal, {
      isCompleted: true,
    });
    expect(result).toMatchObject({
      kind: "mismatch",
      commandIndex: 1,
      expected: { type: "Run", name: "a" },
      actual: { type: "Run", name: "b" },
      error: { errorCode: "RT0016", code: 570, stacktrace: "at handler" },
    });
    expect(performed).toEqual([]);
  });

  test("reports which step is missing", async () => {
    const { result } = await resultOf([...step("a", 1), returns("done")], completedJournal, { isCompleted: true });
    expect(result).toMatchObject({
      kind: "mismatch",
      commandIndex: 2,
      expected: { type: "Run", name: "b" },
      actual: { type: "Output", name: undefined },
    });
  });
});

describe("a suspended invocation", () => {
  const asleep = [input, run("a", 1), ran(1), sleep("nap", 2)];

  test("that waits for the same is compatible", async () => {
    expect(await resultOf([...step("a", 1), ...rest("nap", 2), returns("done")], asleep)).toEqual({
      result: { kind: "compatible", output: undefined },
      performed: [],
      requests: 2,
    });
  });

  test("that would continue with another step is compatible, and the step is not performed", async () => {
    const steps = [...step("a", 1), { do: sleepCommand("nap", 2) }, ...step("new", 3), returns("done")];
    expect(await resultOf(steps, asleep)).toEqual({
      result: { kind: "compatible", output: undefined },
      performed: [],
      requests: 1,
    });
  });

  test("that would wait earlier than its journal shows is a mismatch", async () => {
    const journal = [input, sleep("nap", 1), run("a", 2), ran(2), sleep("second", 3)];
    const { result } = await resultOf([...rest("nap", 1), ...step("a", 2), ...rest("second", 3)], journal);
    expect(result).toMatchObject({ kind: "mismatch", commandIndex: undefined, error: { errorCode: "RT0016" } });
  });
});

describe("a step under way", () => {
  const working = [input, run("a", 1), ran(1), run("b", 2)];

  test("is compared and not performed", async () => {
    expect(await resultOf(twoSteps, working)).toEqual({
      result: { kind: "compatible", output: undefined },
      performed: [],
      requests: 1,
    });
  });

  test("of another name is a mismatch at its position", async () => {
    const { result, performed } = await resultOf([...step("a", 1), ...step("renamed", 2), returns("done")], working);
    expect(result).toMatchObject({
      kind: "mismatch",
      commandIndex: 2,
      expected: { type: "Run", name: "b" },
      actual: { type: "Run", name: "renamed" },
    });
    expect(performed).toEqual([]);
  });

  test("that the handler no longer comes to, because it waits, is a mismatch", async () => {
    const journal = [input, sleep("nap", 1), run("b", 2)];
    const { result, performed } = await resultOf([...rest("nap", 1), ...step("b", 2)], journal);
    expect(result).toMatchObject({ kind: "mismatch", commandIndex: 2, expected: { type: "Run", name: "b" } });
    expect(performed).toEqual([]);
  });

  test("keeps what arrived later for those before it, and nothing for those behind it", async () => {
    const world = new World();
    world.play({ steps: [...rest("nap", 1), ...step("b", 2)] });
    const result = await world.check([input, sleep("nap", 1), run("b", 2), sleep("other", 3), slept(1), slept(3)]);
    expect(result).toEqual({ kind: "compatible", output: undefined });
    const { Start, Input, Sleep, CompleteAwakeable, SleepCompletion } = MessageType;
    expect(world.frameTypes).toEqual([[Start, Input, Sleep, CompleteAwakeable, SleepCompletion]]);
  });

  test("is inconclusive for an endpoint that reports no position, and does not perform the step", async () => {
    const world = new World();
    const sdk = world.play({ steps: twoSteps, reports: "codeOnly" });
    expect(await world.check(working)).toMatchObject({ kind: "unclear", error: { errorCode: "RT0016" } });
    expect(sdk.performed).toEqual([]);
    expect(world.transport.streams).toHaveLength(1);
  });
});

describe("an invocation between two steps", () => {
  const between = [input, run("a", 1), ran(1)];

  test("would continue, and the next step is not performed", async () => {
    expect(await resultOf(twoSteps, between)).toEqual({
      result: { kind: "compatible", output: undefined },
      performed: [],
      requests: 1,
    });
  });

  test("whose handler fails is a failure of another kind", async () => {
    const { result } = await resultOf([...step("a", 1), { fail: "no money" }], between);
    expect(result).toMatchObject({ kind: "failed", error: { errorCode: "RT0007", message: "no money" } });
  });

  test("with its Output stored must return just that", async () => {
    const stored = [...between, output("done")];
    expect((await resultOf([...step("a", 1), returns("done")], stored)).result).toEqual({ kind: "compatible", output: "same" });
    expect((await resultOf([...step("a", 1), returns("else")], stored)).result).toMatchObject({
      kind: "mismatch",
      commandIndex: 2,
    });
    expect((await resultOf(twoSteps, stored)).result).toMatchObject({
      kind: "mismatch",
      commandIndex: 2,
      expected: { type: "Output" },
      actual: { type: "Run", name: "b" },
    });
  });
});

test("an endpoint that reports only the code gets a replay without the stop, which is cut at the first new command", async () => {
  const world = new World();
  const sdk = world.play({ steps: twoSteps, reports: "codeOnly" });
  expect(await world.check([input, run("a", 1), ran(1)])).toEqual({ kind: "compatible", output: undefined });
  expect(world.transport.streams.map(({ aborted }) => aborted)).toEqual([false, true]);
  expect(sdk.performed).toEqual(["b"]); // The one way to find out, and documented.
});

describe("on the wire", () => {
  test("a check sends Start and the journal like a real attempt, and marks the request as a check", async () => {
    const signed: unknown[] = [];
    const identity: RequestIdentity = {
      publicKey: "k",
      sign: (headers, path, subject) => void signed.push([path, subject, { ...headers }]),
    };
    const world = new World(
      { address: { kind: "http", uri: "http://h/base/", httpVersion: "HTTP/1.1" }, additionalHeaders: { Extra: "1" } },
      identity,
    );
    world.play({ steps: rest("nap", 1) });
    const target = aTarget({ key: "k", serviceType: "virtualObject", handlerType: "exclusive" });
    const trace = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`, tracestate: undefined };
    const facts: InvocationFacts = someFacts({ target, trace });
    const state = new Map([["s", utf8("1")]]);
    await world.check([input, sleep("nap", 1)], { facts, version: 7, state });
    const [guarded, plain] = world.transport.streams;
    expect(plain?.request).toEqual({
      address: world.candidate.address,
      method: "POST",
      path: "/invoke/Svc/run",
      requestResponse: false,
      headers: {
        "content-type": "application/vnd.restate.invocation.v7",
        accept: "application/vnd.restate.invocation.v7",
        "x-restate-invocation-id": facts.id,
        "x-restate-service-key": "k",
        "x-restate-cluster-name": "c",
        extra: "1",
        "x-perdure-check": "replay",
      },
    });
    expect(signed[0]).toMatchObject(["/invoke/Svc/run", "k", {}]);
    const start = decodeStart(plain!.frames[0]!.body) as StartMessage;
    expect(start).toMatchObject({
      debugId: facts.id,
      knownEntries: 2,
      key: "k",
      partialState: false,
      retryCountSinceLastStoredEntry: 0,
    });
    expect(start.state).toHaveLength(1);
    expect(plain!.frames.slice(1).map(({ body }) => [...body])).toEqual([input, sleep("nap", 1)].map(({ body }) => [...body]));
    expect(guarded!.frames).toHaveLength(4);
    expect(decodeCommand(guarded!.frames[3]!.type, guarded!.frames[3]!.body)).toMatchObject({
      name: "perdure: end of the checked journal",
    });
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("a request-response endpoint gets it as one request", async () => {
    const world = new World({ protocolType: "requestResponse" });
    world.play({ steps: rest("nap", 1) });
    await world.check([input, sleep("nap", 1)]);
    expect(world.transport.last.request.requestResponse).toBe(true);
  });

  test("without a transport for Lambda it fails with the reason", async () => {
    const address = {
      kind: "lambda",
      arn: "arn:aws:lambda:r:1:function:f:1",
      assumeRoleArn: undefined,
      compression: undefined,
    } as const;
    expect(await new World({ address }).check([input])).toMatchObject({ kind: "failed", error: { errorCode: "RT0010" } });
  });

  test("a long journal waits for an endpoint that reads slowly", async () => {
    const world = new World();
    const journal = [input, ...Array.from({ length: 100 }, (_, i) => sleep("x".repeat(2_000), i + 1))];
    world.transport.onOpen = (stream) => {
      stream.writable = false;
    };
    const result = world.check(journal);
    const { last } = world.transport;
    expect(last.ended).toBe(false);
    const before = last.frames.length;
    last.writable = true;
    last.listener.drain();
    expect(last.frames.length).toBeGreaterThan(before);
    expect([last.frames.length, last.ended]).toEqual([journal.length + 2, true]);
    last.respond().fails("enough").close();
    expect(await result).toMatchObject({ kind: "failed" });
  });
});

describe("an endpoint that", () => {
  const play = async (act: (stream: FakeStream, world: World) => void) => {
    const world = new World();
    const result = world.check([input], { version: 7 });
    act(world.transport.last, world);
    return { result: await result, stream: world.transport.last, world };
  };

  test("hangs is cut at the timeout", async () => {
    const { result, stream, world } = await play((_, { clock }) => clock.advanceBy(1_000));
    expect(result).toMatchObject({ kind: "failed", error: { errorCode: "RT0001" } });
    expect([stream.aborted, world.clock.pendingTimers]).toEqual([true, 0]);
  });

  test("is reset when it stays open after its final message", async () => {
    const { result, stream } = await play((s, { clock }) => {
      s.respond().fails("no");
      clock.advanceBy(1_000);
    });
    expect(result).toMatchObject({ kind: "failed", error: { message: "no" } });
    expect(stream.aborted).toBe(true);
  });

  test("is not there, refuses, or speaks otherwise fails the check of this journal", async () => {
    const broken = await play((s) => s.breakOff({ kind: "connect", message: "refused" }));
    expect(broken.result).toMatchObject({ kind: "failed", error: { errorCode: "RT0010" } });
    const missing = await play((s) => s.respond(404));
    expect(missing.result).toMatchObject({ kind: "failed", error: { errorCode: "RT0012" } });
    const version = await play((s) => s.respond(415));
    expect(version.result).toMatchObject({ kind: "failed", error: { errorCode: "RT0015" } });
    const garbage = await play((s) => s.respond().frame(0x1234));
    expect(garbage.result).toMatchObject({ kind: "failed", error: { errorCode: "RT0012" } });
    const malformed = await play((s) => s.respond().frame(MessageType.Suspension, new Uint8Array([0x0a, 0x7f])));
    expect(malformed.result).toMatchObject({ kind: "failed", error: { errorCode: "RT0012" } });
    const nothing = await play((s) => s.respond().close());
    expect(nothing.result).toMatchObject({ kind: "failed", error: { errorCode: "RT0007" } });
  });

  test("talks without end is cut off", async () => {
    const { result, stream } = await play((s) => {
      s.respond();
      const awaitingOn = { ...awaiting(1), signalNames: ["x".repeat(400_000)] };
      for (let i = 0; i < 10 && !s.aborted; i++) s.control({ kind: "awaitingOn", awaitingOn, executingSideEffects: false });
    });
    expect(result).toMatchObject({ kind: "failed", error: { errorCode: "RT0003" } });
    expect(stream.aborted).toBe(true);
  });

  test("sends messages after its final message, which are ignored", async () => {
    const { result } = await play((s) => s.respond().fails("first").finish().close());
    expect(result).toMatchObject({ kind: "failed", error: { message: "first" } });
  });
});

test("a cancelled check ends at once", async () => {
  const world = new World();
  const giveUp = new AbortController();
  const result = world.check([input], {}, giveUp.signal);
  giveUp.abort();
  expect(await result).toMatchObject({ kind: "failed", error: { message: "the check was cancelled" } });
  expect([world.transport.last.aborted, world.clock.pendingTimers]).toEqual([true, 0]);
});

test("a malformed journal is a failure of the server", async () => {
  const damaged = entry(MessageType.RunCompletion, new Uint8Array([0x0a, 0x7f]));
  expect(await new World().check([input, damaged])).toMatchObject({ kind: "failed", error: { errorCode: "RT0006" } });
});
