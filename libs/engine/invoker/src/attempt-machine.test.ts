import { describe, expect, test } from "@jest/globals";
import { EMPTY_BYTES, utf8 } from "@perdure/base";
import {
  decodeStart,
  encodeCommand,
  encodeCompletion,
  encodeControl,
  encodeFrame,
  encodeNotification,
  type Future,
  isFault,
  MessageType,
  messageTypeName,
  requestedAckFlag,
  type SdkControlMessage,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { aTarget, someFacts } from "./testing/index.js";
import { callFailed, entryOf, error, future, Harness, input, output, run, sleepDone } from "./testing/machine-harness.js";

describe("an attempt", () => {
  test("sends Start and the journal in one write, before the endpoint has sent anything", () => {
    const attempt = new Harness({ entries: [input, entryOf(run(1))] });
    expect(attempt.writes.length).toBe(1);
    expect(attempt.frameNames()).toEqual(["Start", "Input", "Run"]);
    expect(attempt.halfClosed).toBe(false);
  });

  test("in request/response mode ends the request right after the replay and sends nothing afterwards", () => {
    const attempt = new Harness({ mode: "requestResponse" });
    expect(attempt.halfClosed).toBe(true);
    attempt.frames();
    attempt
      .command(run(1))
      .control({ kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value: utf8("x") } });
    attempt.stored({ type: MessageType.RunCompletion, body: encodeCompletion(1, { kind: "value", value: utf8("x") }) });
    expect(attempt.frames()).toEqual([]);
    attempt.control({ kind: "suspension", awaitingOn: future({ completions: [1] }) });
    expect(attempt.submitted.at(-1)).toMatchObject({ kind: "suspend", satisfied: true, receivedNotificationCount: 1 });
  });

  test("sends no v7 field of Start before v7", () => {
    const facts = someFacts({ idempotencyKey: "once", target: aTarget({ scope: "s" }), limitKey: "t/u" });
    for (const version of [5, 6, 7] as const) {
      const start = decodeStart(new Harness({ version, facts }).frames()[0]!.body);
      if (isFault(start)) throw new Error(start.detail);
      expect(start.idempotencyKey).toBe(version === 7 ? "once" : undefined);
      expect(start.scope).toBe(version === 7 ? "s" : undefined);
      expect(start.limitKey).toBe(version === 7 ? "t/u" : undefined);
    }
  });

  test("owns the bytes it submits: the received chunk may change afterwards", () => {
    const attempt = new Harness({
      facts: someFacts({ target: aTarget({ key: "k", serviceType: "virtualObject", handlerType: "exclusive" }) }),
    });
    const chunk = encodeFrame(
      MessageType.SetState,
      encodeCommand({ kind: "setState", stateKey: utf8("a"), value: utf8("value"), name: "" }),
    );
    attempt.machine.received(chunk);
    attempt.machine.work(Number.POSITIVE_INFINITY);
    chunk.fill(0);
    const [command] = attempt.submitted;
    expect(command).toMatchObject({ kind: "appendCommand", action: { kind: "setState", key: "a", value: utf8("value") } });
  });

  test("sends a completion before the ack of the same command", () => {
    const attempt = new Harness();
    attempt.frames();
    const invocationId = {
      type: MessageType.CallInvocationIdCompletion,
      body: encodeCompletion(1, { kind: "invocationId", invocationId: "inv_1" }),
    };
    attempt.stored(invocationId, { kind: "push", thenAck: 1 });
    expect(attempt.frameNames()).toEqual(["CallInvocationIdCompletion", "CommandAck"]);
  });

  test.each([
    [5, true, false],
    [6, true, false],
    [6, false, false],
    [7, true, true],
    [7, false, false],
  ] as const)("on v%i a proposal with ack flag %s requests an ack alone: %s", (version, flagged, ackOnly) => {
    const attempt = new Harness({ version }).command(run(1));
    attempt.control(
      { kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value: utf8("9") } },
      flagged ? requestedAckFlag : 0,
    );
    const body = encodeCompletion(1, { kind: "value", value: utf8("9") });
    expect(attempt.submitted.at(-1)).toEqual({
      kind: "proposeRun",
      id: expect.anything(),
      run: 1,
      completionId: 1,
      body,
      ackOnly,
    });
  });

  test("accepts the result of a run that an earlier attempt began", () => {
    const attempt = new Harness({ entries: [input, entryOf(run(4))] });
    attempt.control({
      kind: "proposeRunCompletion",
      resultCompletionId: 4,
      result: { kind: "failure", failure: { code: 500, message: "no", metadata: [] } },
    });
    expect(attempt.submitted.at(-1)).toMatchObject({ kind: "proposeRun", completionId: 4 });
  });

  test("ends with an Output of this attempt or an earlier one", () => {
    expect(new Harness().command(output).control({ kind: "end" }).ending).toEqual({ kind: "ended" });
    expect(new Harness({ entries: [input, entryOf(output)] }).control({ kind: "end" }).ending).toEqual({ kind: "ended" });
  });

  test("half-closes at once after the final message and ignores what follows", () => {
    const attempt = new Harness().command(output).control({ kind: "end" });
    expect(attempt.halfClosed).toBe(true);
    attempt.raw(0x7777).command(run(1));
    attempt.machine.responseEnded();
    expect(attempt.ending).toEqual({ kind: "ended" });
    expect(attempt.submitted.map(({ kind }) => kind)).toEqual(["appendCommand", "end"]);
  });

  test("keeps the future that the handler reports as awaited", () => {
    const awaitingOn = future({ completions: [1], combinator: "firstCompleted" });
    const attempt = new Harness({ version: 7 }).control({ kind: "awaitingOn", awaitingOn, executingSideEffects: false });
    expect(attempt.machine.awaiting).toEqual(awaitingOn);
    expect(attempt.ending).toBeUndefined();
  });

  test("after the request is closed it counts notifications without sending them", () => {
    const attempt = new Harness().command({ kind: "sleep", wakeUpTimeMs: 5, resultCompletionId: 1, name: "" });
    attempt.frames();
    attempt.machine.closeRequest();
    attempt.stored(sleepDone(1));
    expect(attempt.frames()).toEqual([]);
    attempt.control({ kind: "suspension", awaitingOn: future({ completions: [1] }) });
    expect(attempt.submitted.at(-1)).toMatchObject({ kind: "suspend", satisfied: true, receivedNotificationCount: 1 });
  });
});

describe("suspension", () => {
  test("is pruned to what is still awaited", () => {
    const attempt = new Harness({ version: 7 });
    attempt.stored(sleepDone(1));
    const awaitingOn = future({
      combinator: "firstCompleted",
      signalIndexes: [1],
      nested: [future({ combinator: "allCompleted", completions: [1, 2] })],
    });
    attempt.control({ kind: "suspension", awaitingOn });
    expect(attempt.submitted.at(-1)).toMatchObject({
      kind: "suspend",
      satisfied: false,
      awaiting: { signalIndexes: [1], nested: [{ combinator: "allCompleted", completions: [2] }] },
    });
    expect(attempt.ending).toEqual({ kind: "suspended" });
  });

  test("distinguishes failures from successes", () => {
    const condition = future({ combinator: "allSucceededOrFirstFailed", completions: [1, 2] });
    const waiting = new Harness({ version: 7 }).stored(sleepDone(1)).control({ kind: "suspension", awaitingOn: condition });
    expect(waiting.submitted.at(-1)).toMatchObject({ satisfied: false });
    const failed = new Harness({ version: 7 }).stored(callFailed(1)).control({ kind: "suspension", awaitingOn: condition });
    expect(failed.submitted.at(-1)).toMatchObject({ satisfied: true });
  });

  test("records signals by index and by name, including the replayed ones", () => {
    const byIndex = {
      type: MessageType.Signal,
      body: encodeNotification({ kind: "signalIndex", index: 17 }, { kind: "void" }),
      appendedAtMs: 0,
    };
    const byName = {
      type: MessageType.Signal,
      body: encodeNotification({ kind: "signalName", name: "17" }, { kind: "void" }),
      appendedAtMs: 0,
    };
    const wait = (entries: JournalEntry[], awaited: Partial<Future>) =>
      new Harness({ entries: [input, ...entries] }).control({ kind: "suspension", awaitingOn: future(awaited) }).submitted.at(-1);
    expect(wait([byIndex], { signalIndexes: [17] })).toMatchObject({ satisfied: true });
    expect(wait([byIndex], { signalNames: ["17"] })).toMatchObject({ satisfied: false });
    expect(wait([byName], { signalNames: ["17"] })).toMatchObject({ satisfied: true });
    expect(wait([byName], { signalIndexes: [17], completions: [17] })).toMatchObject({
      satisfied: false,
      receivedNotificationCount: 1,
    });
  });
});

describe("what an endpoint does wrong ends the attempt and nothing else", () => {
  test.each([
    ["Start", MessageType.Start],
    ["an ack", MessageType.CommandAck],
    ["a proposal ack", MessageType.ProposeRunCompletionAck],
    ["Input", MessageType.Input],
    ["a completion", MessageType.SleepCompletion],
    ["a signal", MessageType.Signal],
    ["an unknown type", 0x1234],
    ["an unknown type with the top bits set", 0xfc01],
    ["the unassigned command", 0x040f],
  ])("%s from the SDK is RT0012", (_what, type) => {
    const attempt = new Harness().raw(type);
    expect(attempt.failureCode).toBe("RT0012");
    expect(attempt.submitted).toEqual([]);
  });

  test.each<[string, (attempt: Harness) => void]>([
    ["a malformed command", (attempt) => attempt.raw(MessageType.Sleep, Uint8Array.of(0xff))],
    [
      "a malformed proposal",
      (attempt) => attempt.command(run(1)).raw(MessageType.ProposeRunCompletion, Uint8Array.of(0x08, 0x01)),
    ],
    ["a malformed error", (attempt) => attempt.raw(MessageType.Error, Uint8Array.of(0x12, 0x7f))],
    [
      "a proposal for no run",
      (attempt) =>
        attempt.control({ kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value: EMPTY_BYTES } }),
    ],
    [
      "a second proposal for one run",
      (attempt) => {
        const proposal: SdkControlMessage = {
          kind: "proposeRunCompletion",
          resultCompletionId: 1,
          result: { kind: "value", value: EMPTY_BYTES },
        };
        attempt.command(run(1)).control(proposal).control(proposal);
      },
    ],
    ["End without Output", (attempt) => attempt.control({ kind: "end" })],
    ["a suspension on nothing", (attempt) => attempt.raw(MessageType.Suspension)],
    [
      "AwaitingOn before v7",
      (attempt) => attempt.control({ kind: "awaitingOn", awaitingOn: future({ completions: [1] }), executingSideEffects: false }),
    ],
    ["error 571", (attempt) => attempt.control(error({ code: 571 }))],
  ])("%s is RT0012", (_what, act) => {
    const attempt = new Harness();
    act(attempt);
    expect(attempt.failureCode).toBe("RT0012");
  });

  test("a completed run of an earlier attempt accepts no second result", () => {
    const done = {
      type: MessageType.RunCompletion,
      body: encodeCompletion(1, { kind: "value", value: EMPTY_BYTES }),
      appendedAtMs: 0,
    };
    const attempt = new Harness({ entries: [input, entryOf(run(1)), done] });
    attempt.control({ kind: "proposeRunCompletion", resultCompletionId: 1, result: { kind: "value", value: EMPTY_BYTES } });
    expect(attempt.failureCode).toBe("RT0012");
  });

  test("v5 fields of a suspension count as nothing on v7", () => {
    const attempt = new Harness({ version: 7 });
    attempt.raw(MessageType.Suspension, encodeControl({ kind: "suspension", awaitingOn: future({ completions: [1] }) }, 6));
    expect(attempt.failureCode).toBe("RT0012");
  });

  test("a message over the limit is RT0003 as soon as its header is read", () => {
    const attempt = new Harness({ messageBytesMax: 1000 });
    attempt.machine.received(Uint8Array.of(0x04, 0x01, 0, 0, 0x00, 0x10, 0, 0));
    attempt.machine.work(Number.POSITIVE_INFINITY);
    expect(attempt.failureCode).toBe("RT0003");
    expect(attempt.ending).toMatchObject({ failure: { resetStream: true } });
  });

  test("a command beyond the longest journal is RT0100 and pauses at once; an Output is always accepted", () => {
    const sleep = { kind: "sleep", name: "", wakeUpTimeMs: 1, resultCompletionId: 1 } as const;
    const output = { kind: "output", name: "", result: { kind: "value", value: EMPTY_BYTES } } as const;
    const full = new Harness({ journalEntriesMax: 2 }).command(sleep).command({ ...sleep, resultCompletionId: 2 });
    expect(full.ending).toMatchObject({ kind: "failed", failure: { behavior: "pause", error: { errorCode: "RT0100" } } });
    const ended = new Harness({ journalEntriesMax: 2 }).command(sleep).command(output).control({ kind: "end" });
    expect(ended.ending).toEqual({ kind: "ended" });
    const endless = new Harness({ journalEntriesMax: 2 }).command(sleep).command(output).command(output);
    expect(endless.failureCode).toBe("RT0100");
  });

  test("so is one that makes the journal larger than is allowed, replayed entries and results included", () => {
    const state = { kind: "setState", name: "", stateKey: EMPTY_BYTES, value: new Uint8Array(600) } as const;
    const output = { kind: "output", name: "", result: { kind: "value", value: new Uint8Array(600) } } as const;
    const facts = someFacts({ target: aTarget({ serviceType: "virtualObject", handlerType: "exclusive", key: "k" }) });
    const small = { facts, journalBytesMax: 1_000 };
    const full = new Harness(small).command(state).command(state);
    expect(full.submitted).toHaveLength(1);
    expect(full.ending).toMatchObject({ kind: "failed", failure: { behavior: "pause", error: { errorCode: "RT0100" } } });
    const stored = { type: MessageType.SetState, body: encodeCommand(state), appendedAtMs: 0 };
    const replayed = new Harness({ ...small, entries: [input, stored] }).command(state);
    expect(replayed.failureCode).toBe("RT0100");
    const ended = new Harness(small).command(state).command(output).control({ kind: "end" });
    expect(ended.ending).toEqual({ kind: "ended" });
  });

  test("a future nested too deep is RT0025 and pauses at once", () => {
    let deep = future({ completions: [1] });
    for (let level = 0; level < 1001; level++) deep = future({ nested: [deep] });
    const attempt = new Harness({ version: 7, messageBytesMax: 1 << 24 }).control({ kind: "suspension", awaitingOn: deep });
    expect(attempt.ending).toMatchObject({ kind: "failed", failure: { behavior: "pause", error: { errorCode: "RT0025" } } });
  });

  test.each([
    [570, "RT0016"],
    [571, "RT0012"],
    [572, "RT0007"],
    [573, "RT0007"],
    [500, "RT0007"],
    [0, "RT0007"],
  ])("error %i is %s", (code, errorCode) => {
    const attempt = new Harness().control(
      error({
        code,
        stacktrace: "at line 1",
        relatedCommandIndex: 2,
        relatedCommandName: "step",
        relatedCommandType: 0x0411,
        nextRetryDelayMs: 0,
      }),
    );
    expect(attempt.ending).toEqual({
      kind: "failed",
      failure: {
        error: {
          errorCode,
          code,
          message: "no",
          stacktrace: "at line 1",
          relatedCommandIndex: 2,
          relatedCommandName: "step",
          relatedCommandType: 0x0411,
        },
        nextRetryDelayMs: 0,
        behavior: "retry",
        countsForSdk: true,
        resetStream: false,
        mayStillRun: false,
        isUnprocessed: false,
      },
    });
    expect(attempt.halfClosed).toBe(true);
  });

  test("a response that ends without a final message is RT0007, inside a message as well", () => {
    const plain = new Harness().command(run(1));
    plain.machine.responseEnded();
    expect(plain.ending).toMatchObject({
      failure: { error: { errorCode: "RT0007", message: "the response ended without a final message" } },
    });
    const cut = new Harness();
    cut.machine.received(encodeFrame(MessageType.Run, encodeCommand(run(1))).subarray(0, 9));
    cut.machine.work(Number.POSITIVE_INFINITY);
    cut.machine.responseEnded();
    expect(cut.ending).toMatchObject({
      failure: { error: { errorCode: "RT0007", message: "the response ended inside a message" } },
    });
  });

  test("what came before the wrong message stays, what comes after is discarded", () => {
    const attempt = new Harness()
      .command(run(1))
      .command({ kind: "setState", stateKey: utf8("k"), value: utf8("v"), name: "" })
      .command(output);
    expect(
      attempt.submitted.map((command) => (command.kind === "appendCommand" ? messageTypeName(command.type) : command.kind)),
    ).toEqual(["Run"]);
    expect(attempt.ending).toMatchObject({
      failure: {
        resetStream: false,
        error: {
          errorCode: "RT0017",
          message: "SetState command at index 2 failed: Svc is a plain service and has no state",
          relatedCommandIndex: 2,
        },
      },
    });
  });

  test("a bug inside the server is the failure of that attempt", () => {
    const broken = new Harness();
    broken.submit = () => {
      throw new TypeError("a bug");
    };
    broken.command(run(1));
    expect(broken.failureCode).toBe("RT0006");
  });
});
