/** An invocation from its first attempt to its end, with the commands that the partition sends meanwhile. */
import { describe, expect, test } from "@jest/globals";
import { type DeploymentId, silentLogger, utf8 } from "@perdure/base";
import { MessageType } from "@perdure/service-protocol";
import type { AttemptFailed } from "@perdure/state-machine";
import { aRegistry, aRegistryOf } from "./testing/index.js";
import { failuresOf, handler, names, sleep, startOf, World, waitForSleep } from "./testing/world.js";
import { traceIdOf } from "./trace.js";

describe("an invocation, from its first attempt to its end", () => {
  test("pins its deployment before its first command, runs, and is dropped when its stream is closed", async () => {
    const world = new World();
    const invocation = await world.invoke();
    expect(world.last.request).toMatchObject({ method: "POST", path: "/invoke/Svc/run", requestResponse: false });
    expect(names(world.last)).toEqual(["Start", "Input"]);
    world.last.respond().finish("42");
    expect(world.last.ended).toBe(true);
    await world.turn();
    expect(invocation.commands.map(({ kind }) => kind)).toEqual(["pin", "appendCommand", "end"]);
    expect(invocation.pinned).toEqual({ deploymentId: "dp_15ChR1PDwZt22Rn2lfZrRo5", protocolVersion: 6 });
    expect(invocation.result).toEqual({ kind: "value", value: utf8("42") });
    expect(world.status(invocation)).toBeUndefined();
    world.last.close();
    expect(world.clock.pendingTimers).toBe(0);
    expect(world.last.aborted).toBe(false);
  });

  test("suspends, wakes with what it waited for, and replays it in storage order", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().command(sleep).control(waitForSleep).close();
    await world.turn();
    expect(invocation.status).toBe("suspended");
    expect(world.status(invocation)).toBeUndefined();
    world.partition.complete(invocation.facts.id, MessageType.SleepCompletion, 1, { kind: "void" });
    await world.turn();
    expect(world.streams.length).toBe(2);
    expect(names(world.last)).toEqual(["Start", "Input", "Sleep", "SleepCompletion"]);
    expect(startOf(world.last)).toMatchObject({ knownEntries: 3, retryCountSinceLastStoredEntry: 0 });
    expect(invocation.commands.filter(({ kind }) => kind === "pin").length).toBe(1);
  });

  test("a notification that crosses the suspension on its way resumes at once", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().command(sleep);
    world.partition.complete(invocation.facts.id, MessageType.SleepCompletion, 1, { kind: "void" });
    world.last.control(waitForSleep).close();
    await world.turn();
    expect(invocation.run).toBe(2);
    expect(names(world.last)).toEqual(["Start", "Input", "Sleep", "SleepCompletion"]);
  });

  test.each([
    ["stays with its deployment when the service moves on", true, "dp_15ChR1PDwZt22Rn2lfZrRo5"],
    ["moves on with the service as long as it has done nothing", false, "dp_2newer"],
  ])("%s", async (_title, hasProgress, expected) => {
    const world = new World();
    const invocation = await world.invoke();
    if (hasProgress) world.last.respond().command(sleep);
    else world.last.respond();
    await world.turn();
    world.last.fails("once").close();
    const older = world.registry.current();
    const newer = aRegistry({ id: "dp_2newer" as DeploymentId, services: { Svc: { handlers: { run: handler } } } }).current();
    const deployments = new Map([...older.deployments, ...newer.deployments]);
    world.registry = aRegistryOf({ services: newer.services, deployments, rules: [] });
    await world.pass(2_000);
    expect(world.streams.length).toBe(2);
    expect(world.status(invocation)?.lastAttemptDeploymentId).toBe(expected);
    const other = await world.invoke();
    expect(world.status(other)?.lastAttemptDeploymentId).toBe("dp_2newer");
  });
});

describe("control", () => {
  test("kill resets an open stream, and later messages on it are ignored", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.partition.kill(invocation.facts.id);
    await world.turn();
    expect(world.last.aborted).toBe(true);
    expect(world.clock.pendingTimers).toBe(0);
    world.last.respond().finish();
    await world.turn();
    expect(invocation.commands).toEqual([]);
  });

  test("pause half-closes and waits for the handler", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().command(sleep);
    world.partition.pause(invocation.facts.id);
    await world.turn();
    expect([world.last.ended, invocation.status]).toEqual([true, "invoked"]);
    world.last.control(waitForSleep).close();
    await world.turn();
    expect(invocation.status).toBe("paused");
  });

  test("pause while backing off takes effect at once, with the last error", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    await world.turn();
    world.partition.pause(invocation.facts.id);
    await world.turn();
    expect(invocation.status).toBe("paused");
    const describeFailure = ({ then, failureCount, error, isRepeated }: AttemptFailed) =>
      `${failureCount} ${then} ${error.message}${isRepeated ? " again" : ""}`;
    expect(invocation.failures.map(describeFailure)).toEqual(["1 retry no", "1 pause no again"]);
    expect(world.clock.pendingTimers).toBe(0);
    await world.pass(60_000);
    expect(world.streams.length).toBe(1);
  });

  test("pause before the first attempt starts it half-closed", async () => {
    const world = new World({}, { concurrentInvocationsMax: 1 });
    const first = await world.invoke();
    const second = await world.invoke();
    world.partition.pause(second.facts.id);
    await world.turn();
    world.streams[0]!.respond().finish().close();
    await world.turn();
    expect(first.status).toBe("completed");
    expect([world.last.ended, names(world.last)]).toEqual([true, ["Start", "Input"]]);
  });

  test("resume while backing off retries now, with a fresh budget", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let resumed = 1; resumed <= 6; resumed++) {
      world.last.respond().fails("no").close();
      await world.turn();
      world.partition.retryNow(invocation.facts.id);
      await world.turn();
      expect(world.streams.length).toBe(resumed + 1);
    }
    expect(invocation.failures.every(({ then }) => then === "retry")).toBe(true);
    world.partition.retryNow(invocation.facts.id);
    await world.turn();
    expect(world.streams.length).toBe(7);
    expect(world.last.aborted).toBe(false);
  });

  test("effects of an earlier run change nothing", async () => {
    const world = new World();
    const invocation = await world.invoke();
    const { id } = invocation.facts;
    world.invoker.stopRun({ kind: "stopRun", id, run: 0, reason: "killed" });
    world.invoker.requestPause({ kind: "requestPause", id, run: 0 });
    expect([world.last.aborted, world.last.ended]).toEqual([false, false]);
  });

  test("disposing resets every stream, draining ones too, and submits nothing", async () => {
    const world = new World();
    const ended = await world.invoke();
    world.last.respond().finish();
    await world.turn();
    const running = await world.invoke();
    const commands = [ended.commands.length, running.commands.length];
    await world.invoker[Symbol.asyncDispose]();
    await world.turn();
    expect(world.streams.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect([ended.commands.length, running.commands.length]).toEqual(commands);
    expect(world.clock.pendingTimers).toBe(0);
    expect([...world.invoker.statuses()]).toEqual([]);
  });

  test("a refused stream is tried again soon and is not an attempt; when it is refused again and again it is", async () => {
    const world = new World();
    const invocation = await world.invoke();
    const refused = { kind: "refused", message: "REFUSED_STREAM" } as const;
    for (let i = 1; i <= 6; i++) {
      world.last.listener.failed(refused);
      await world.turn();
      expect(world.status(invocation)).toMatchObject({ retryCount: 0, lastFailure: undefined });
      await world.pass(10 * 2 ** (i - 1));
      expect(world.streams.length).toBe(i + 1);
    }
    expect(failuresOf(invocation)).toEqual([]);
    world.last.listener.failed(refused);
    await world.turn();
    expect(failuresOf(invocation)).toEqual(["RT0010 retry"]);
    await world.pass(5_000);
    world.last.respond().finish().close();
    await world.turn();
    expect(invocation.status).toBe("completed");
  });

  test("an attempt that is cut off is reset and tried again, more often than its policy has attempts", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let i = 1; i <= 10; i++) {
      world.last.respond();
      expect(world.invoker.cutAttempt(invocation.facts.id)).toEqual({ attempt: i, journalLength: 1 });
      expect(world.last.aborted).toBe(true);
      expect(world.invoker.cutAttempt(invocation.facts.id)).toBeUndefined(); // The next attempt has not begun yet.
      await world.turn();
      expect(world.invoker.status(invocation.facts.id)?.lastFailure?.errorCode).toBe("RT0101");
      await world.pass(5_000);
      expect(world.streams.length).toBe(i + 1);
    }
    expect(failuresOf(invocation)).toEqual(Array.from({ length: 10 }, () => "RT0101 retry"));
    world.last.respond().finish();
    expect(world.invoker.cutAttempt(invocation.facts.id)).toBeUndefined(); // Its outcome was reported.
    world.last.close();
    await world.turn();
    expect(invocation.status).toBe("completed");
    expect(world.invoker.cutAttempt(invocation.facts.id)).toBeUndefined();
  });
});

test("introspection sees attempt, deployment, server and what is awaited", async () => {
  const world = new World({}, { protocolVersionMax: 7 });
  const invocation = await world.invoke();
  world.last.respond().control({ kind: "awaitingOn", awaitingOn: waitForSleep.awaitingOn, executingSideEffects: false });
  expect([...world.invoker.statuses()]).toEqual([
    {
      id: invocation.facts.id,
      inFlight: true,
      retryCount: 1,
      lastStartAtMs: world.clock.nowMs(),
      nextRetryAtMs: undefined,
      lastAttemptDeploymentId: "dp_15ChR1PDwZt22Rn2lfZrRo5",
      lastAttemptServer: "test/1",
      lastFailure: undefined,
      lastAwaitingJson: '{"Unknown":[{"Single":{"CompletionId":1}},{"Single":{"SignalIndex":1}}]}',
      endpointAnswer: "messages",
    },
  ]);
  world.last.fails("no").close();
  await world.turn();
  const status = world.status(invocation)!;
  expect(status).toMatchObject({ inFlight: false, lastAwaitingJson: undefined, lastFailure: { message: "no" } });
  expect(status.nextRetryAtMs! - world.clock.nowMs()).toBeGreaterThanOrEqual(1_000);
});

test("a failed attempt is logged with its target and the beginning of its message", async () => {
  const lines: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
  const world = new World({}, {}, { logger });
  const invocation = await world.invoke();
  world.last.fails("x".repeat(1000)).close();
  await world.turn();
  const { service, handler } = invocation.facts.target;
  expect(lines).toMatchObject([{ target: `${service}/${handler}`, code: "RT0007", reason: "x".repeat(500), action: "retry" }]);
  expect(Number.isInteger((lines[0] as { delayMs: number }).delayMs)).toBe(true);
  expect(lines[0]).toMatchObject({ deployment: expect.stringMatching(/^dp_/) });
  expect(lines[0]).not.toHaveProperty("trace_id");
});

test("a log line about an invocation has the id of its trace, if that can be read", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  expect(traceIdOf({ traceparent, tracestate: undefined })).toEqual({ trace_id: "0af7651916cd43dd8448eb211c80319c" });
  expect([traceIdOf(undefined), traceIdOf({ traceparent: "nonsense", tracestate: undefined })]).toEqual([{}, {}]);
});

test("failures of one endpoint are logged in full a few times, and then counted", async () => {
  const lines: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void lines.push(message) };
  const world = new World({}, {}, { logger });
  for (let n = 0; n < 50; n++) {
    await world.invoke();
    world.last.listener.failed({ kind: "connect", message: "refused" });
    await world.turn();
  }
  expect(lines).toEqual(Array.from({ length: 20 }, () => "attempt failed"));
});
