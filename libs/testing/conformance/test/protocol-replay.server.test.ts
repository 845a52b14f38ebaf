/** The protocol between a server and an endpoint: replays, the request side, and suspensions. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { utf8 } from "@perdure/base";
import {
  type CallCommand,
  type Combinator,
  type Future,
  type JournalCommand,
  MessageType,
  messageTypeName,
} from "@perdure/service-protocol";
import { type AttemptScript, eventually, manifestOf, type RawAttempt, RawEndpoint, TestWorld } from "../src/index.js";
import { echoService } from "../src/services/echo.js";

let world: TestWorld;
beforeAll(async () => {
  world = await TestWorld.start({ settings: { "worker.invoker.max-protocol-version": 7 } });
  await world.deploy({ services: [echoService("")] });
});
afterAll(() => world[Symbol.asyncDispose]());

type ServiceType = "SERVICE" | "VIRTUAL_OBJECT" | "WORKFLOW";
const HANDLER_TYPES = { SERVICE: "SHARED", VIRTUAL_OBJECT: "EXCLUSIVE", WORKFLOW: "WORKFLOW" } as const;

let services = 0;
/** Serves one script under a new name; gives the name. What the script finds wrong fails the test through `verdict`. */
async function serve(script: AttemptScript, { type = "SERVICE" as ServiceType, version = 7, shared = false } = {}) {
  const name = `Raw${++services}`;
  const handler = { name: "run", ty: shared ? "SHARED" : HANDLER_TYPES[type], output: { contentType: "text/plain" } };
  const definition = {
    name,
    ty: type,
    handlers: [handler],
    retryPolicyInitialInterval: 20,
    retryPolicyMaxInterval: 20,
    retryPolicyMaxAttempts: 6,
    retryPolicyOnMaxAttempts: "KILL",
  };
  const manifest = { ...manifestOf([]), services: [definition], minProtocolVersion: version, maxProtocolVersion: version };
  const endpoint = world.own(await RawEndpoint.start({ scripts: { [name]: script }, manifest }));
  await world.admin.register({ uri: endpoint.url });
  return { name, endpoint, expectNoFailures: () => expect(endpoint.failures).toEqual([]) };
}

const call = async (name: string, key?: string) => world.ingress.call(key === undefined ? [name, "run"] : [name, key, "run"]);
const typesOf = (frames: readonly { readonly type: number }[]) => frames.map(({ type }) => messageTypeName(type));
const sleepUntil = (wakeUpTimeMs: number, resultCompletionId: number): JournalCommand => ({
  kind: "sleep",
  wakeUpTimeMs,
  resultCompletionId,
  name: "",
});
const callOf = (handlerName: string, parameter: string, first: number): CallCommand => ({
  kind: "call",
  serviceName: "Echo",
  handlerName,
  key: "",
  parameter: utf8(parameter),
  headers: [],
  idempotencyKey: undefined,
  scope: undefined,
  limitKey: undefined,
  invocationIdNotificationIdx: first,
  resultCompletionId: first + 1,
  name: "",
});

describe("a replay", () => {
  test("has every entry in the order in which it was sent", async () => {
    const order: string[] = [];
    const { name, expectNoFailures } = await serve(async (attempt) => {
      const { entries } = await attempt.replay();
      attempt.open();
      if (attempt.number === 1) {
        for (let i = 0; i < 5; i++) attempt.command(callOf("echo", String(i), 1 + 2 * i));
        attempt.command(sleepUntil(Date.now() + 30, 20)).command(sleepUntil(Date.now() + 10, 21));
        while (order.length < 12) {
          const { type, id } = await attempt.notification();
          order.push(`${messageTypeName(type)} ${(id as { id: number }).id}`);
        }
        return attempt.end();
      }
      const notifications = entries.filter(({ type }) => type >= 0x8000);
      expect(notifications.map(({ type, body }) => `${messageTypeName(type)} ${body[1]}`)).toEqual(order);
      // A command never stands behind its own completion.
      const commands = typesOf(entries).filter((type) => !type.endsWith("Completion"));
      expect(commands).toEqual(["Input", "Call", "Call", "Call", "Call", "Call", "Sleep", "Sleep"]);
      attempt.return("ok");
    });
    expect((await call(name)).text).toBe("ok");
    expectNoFailures();
  });

  test("leaves out what came after a command that was refused", async () => {
    const { name, expectNoFailures } = await serve(async (attempt) => {
      const { entries } = await attempt.replay();
      attempt.open();
      if (attempt.number > 1) {
        // The sleep is over at once; its completion may or may not be stored by now.
        expect(["Input Sleep", "Input Sleep SleepCompletion"]).toContain(typesOf(entries).join(" "));
        return attempt.return("ok");
      }
      attempt
        .command(sleepUntil(0, 1))
        .command({ ...callOf("echo", "1", 2), serviceName: "Nowhere" })
        .command(sleepUntil(0, 4));
      await attempt.untilEnded();
      attempt.end();
    });
    expect((await call(name)).text).toBe("ok");
    expectNoFailures();
  });
});

describe("the request side", () => {
  test("is closed after the last message", async () => {
    let isClosed = false;
    const { name, expectNoFailures } = await serve(async (attempt) => {
      await attempt.replay();
      attempt
        .open()
        .command({ kind: "output", result: { kind: "value", value: utf8("ok") }, name: "" })
        .control({ kind: "end" });
      await attempt.untilEnded();
      isClosed = true;
      attempt.end();
    });
    expect((await call(name)).text).toBe("ok");
    await eventually("the half-close", () => isClosed);
    expectNoFailures();
  });

  test("is reset, not closed, when the invocation is killed", async () => {
    let end: { aborted: boolean; code: number | undefined } | undefined;
    const { name, expectNoFailures } = await serve(async (attempt) => {
      await attempt.replay();
      attempt.open().command(sleepUntil(Date.now() + 3_600_000, 1));
      attempt.stream.on("close", () => {
        end = { aborted: attempt.stream.aborted, code: attempt.stream.rstCode };
      });
    });
    const { invocationId } = await world.ingress.send([name, "run"]);
    await eventually("the sleep", async () => (await world.admin.row(invocationId))?.["journal_size"] === 2);
    await world.admin.invocation(invocationId, "kill");
    await eventually("the reset", () => end !== undefined);
    expect(end).toEqual({ aborted: true, code: 8 });
    expectNoFailures();
  });

  test("carries a cancellation to a handler that runs, as signal 1", async () => {
    const { name, expectNoFailures } = await serve(async (attempt) => {
      await attempt.replay();
      attempt.open().command(sleepUntil(Date.now() + 3_600_000, 1));
      expect(await attempt.notification()).toMatchObject({
        type: MessageType.Signal,
        id: { kind: "signalIndex", index: 1 },
        result: { kind: "void" },
      });
      attempt.command({
        kind: "output",
        result: { kind: "failure", failure: { code: 409, message: "as requested", metadata: [] } },
        name: "",
      });
      attempt.control({ kind: "end" }).end();
    });
    const { invocationId } = await world.ingress.send([name, "run"]);
    await eventually("the sleep", async () => (await world.admin.row(invocationId))?.["journal_size"] === 2);
    await world.admin.invocation(invocationId, "cancel");
    expect((await world.ingress.attach(invocationId)).status).toBe(409);
    expectNoFailures();
  });
});

describe("a suspension in version 7", () => {
  const leaf = (id: number): Future => node("unknown", [id]);
  function node(combinator: Combinator, completions: number[], nested: Future[] = []): Future {
    return { completions, signalIndexes: [], signalNames: [], nested, combinator };
  }
  const FAR_MS = 3_600_000;

  /** Completion 2 arrives after 40 ms, 4 after 120 ms, 5 never. Returns the completions at the second attempt. */
  async function wake(awaitingOn: Future): Promise<{ attempts: number; received: string[] }> {
    let received: string[] = [];
    const { name, endpoint, expectNoFailures } = await serve(async (attempt) => {
      const { entries } = await attempt.replay();
      attempt.open();
      if (attempt.number === 1) {
        const now = Date.now();
        attempt.command(sleepUntil(now + 40, 2)).command(sleepUntil(now + FAR_MS, 5));
        attempt.command(callOf("sleep", "120", 3));
        await attempt.notification();
        attempt.control({ kind: "suspension", awaitingOn });
        return attempt.end();
      }
      received = typesOf(entries.filter(({ type }) => type >= 0x8000));
      attempt.return("woke");
    });
    const answer = await call(name);
    expect(answer.text).toBe("woke");
    expectNoFailures();
    return { attempts: endpoint.attempts(name), received };
  }

  test("waits for any or for all, as its tree says, and wakes once", async () => {
    expect(await wake(node("firstCompleted", [2, 4, 5]))).toEqual({
      attempts: 2,
      received: ["CallInvocationIdCompletion", "SleepCompletion"],
    });
    expect(await wake(node("allCompleted", [2, 4]))).toMatchObject({
      attempts: 2,
      received: expect.arrayContaining(["SleepCompletion", "CallCompletion"]),
    });
    expect(await wake(node("allSucceededOrFirstFailed", [2], [leaf(4)]))).toMatchObject({
      attempts: 2,
      received: expect.arrayContaining(["CallCompletion"]),
    });
    expect(await wake(node("firstCompleted", [5], [node("allSucceededOrFirstFailed", [2, 4])]))).toMatchObject({
      attempts: 2,
      received: expect.arrayContaining(["SleepCompletion", "CallCompletion"]),
    });
    expect(await wake(node("firstSucceededOrAllFailed", [4, 5], [node("allCompleted", [2, 5])]))).toMatchObject({
      attempts: 2,
      received: expect.arrayContaining(["CallCompletion"]),
    });
  });

  test("wakes at once for what has happened before it was stored", async () => {
    const { name, endpoint, expectNoFailures } = await serve(async (attempt) => {
      await attempt.replay();
      attempt.open();
      if (attempt.number > 1) return attempt.return("woke");
      attempt.command(sleepUntil(0, 1));
      await delay(30); // The completion may have arrived; the script does not read it.
      attempt.suspend(1);
    });
    expect((await call(name)).text).toBe("woke");
    expect(endpoint.attempts(name)).toBe(2);
    expectNoFailures();
  });

  test("receives signals that it does not wait for at its next attempt, in their order", async () => {
    const { name, expectNoFailures } = await serve(async (attempt: RawAttempt) => {
      const { entries } = await attempt.replay();
      attempt.open();
      if (attempt.number === 1) {
        attempt.command(sleepUntil(Date.now() + 1_500, 1)); // Enough for a slow machine to send both signals.
        return attempt.suspend(1);
      }
      expect(typesOf(entries)).toEqual(["Input", "Sleep", "Signal", "Signal", "SleepCompletion"]);
      attempt.return("woke");
    });
    const { invocationId } = await world.ingress.send([name, "run"]);
    await eventually("the suspension", async () => (await world.admin.row(invocationId))?.["status"] === "suspended");
    const sender = await serve(async (attempt) => {
      await attempt.replay();
      attempt.open();
      for (const signal of [
        { kind: "signalIndex", index: 17 },
        { kind: "signalName", name: "go" },
      ] as const) {
        attempt.command({
          kind: "sendSignal",
          targetInvocationId: invocationId,
          signal,
          result: { kind: "value", value: utf8("x") },
          name: "",
        });
      }
      attempt.return("sent");
    });
    expect((await call(sender.name)).text).toBe("sent");
    expect((await world.ingress.attach(invocationId)).text).toBe("woke");
    expectNoFailures();
    sender.expectNoFailures();
  });
});
