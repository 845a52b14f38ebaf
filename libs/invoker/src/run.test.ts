import { describe, expect, test } from "@jest/globals";
import { type DeploymentId, PerdureError, silentLogger, utf8 } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import { cancelSignalId, decodeStart, isFault, MessageType, messageTypeName, type StartMessage } from "@perdure/service-protocol";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { createInvoker, type InterruptibleInvoker, type InvokerDeps, type InvokerOptions, Slots } from "./index.js";
import {
  aRegistry,
  aRegistryOf,
  aTarget,
  type FakeInvocation,
  FakePartition,
  type FakeStream,
  FakeTransport,
  someFacts,
  stateKey,
  type TestDeployment,
} from "./testing/index.js";

const policy = { initialIntervalMs: 1_000, factor: 2, maxIntervalMs: 60_000, maxAttempts: 4, onMaxAttempts: "pause" } as const;
const handler = { retryPolicy: policy };
const object = aTarget({ service: "Obj", key: "k", handler: "add", serviceType: "virtualObject", handlerType: "exclusive" });

class World {
  readonly clock = new VirtualClock();
  readonly transport = new FakeTransport();
  readonly #batches: (() => void)[] = [];
  readonly partition = new FakePartition({ clock: this.clock, later: (batch) => this.#batches.push(batch) });
  readonly invoker: InterruptibleInvoker;
  registry: RegistryView;

  constructor(deployment: Partial<TestDeployment> = {}, options: Partial<InvokerOptions> = {}, deps: Partial<InvokerDeps> = {}) {
    this.registry = aRegistry({
      services: {
        Svc: { handlers: { run: handler } },
        Obj: { type: "virtualObject", handlers: { add: handler, lazy: { ...handler, enableLazyState: true } } },
      },
      ...deployment,
    });
    this.invoker = createInvoker(
      {
        host: this.partition,
        registry: { current: () => this.registry.current(), onChange: () => () => undefined },
        transports: { http: this.transport },
        clock: this.clock,
        random: new SeededRandom(7),
        logger: silentLogger,
        ...deps,
      },
      options,
    );
    this.partition.attach(this.invoker);
  }

  /** Lets every batch become durable and every promise settle, without moving time. */
  async turn(): Promise<void> {
    for (let quiet = 0; quiet < 10; quiet++) {
      for (const batch of this.#batches.splice(0)) {
        quiet = 0;
        batch();
      }
      await Promise.resolve();
    }
  }

  async pass(ms: number): Promise<void> {
    await this.turn();
    this.clock.advanceBy(ms);
    await this.turn();
  }

  async invoke(target = aTarget()): Promise<FakeInvocation> {
    const invocation = this.partition.invoke(someFacts({ target }), utf8("in"));
    await this.turn();
    return invocation;
  }

  get streams(): readonly FakeStream[] {
    return this.transport.streams;
  }
  get last(): FakeStream {
    return this.transport.last;
  }
  status(invocation: FakeInvocation) {
    return this.invoker.status(invocation.facts.id);
  }
}

function startOf(stream: FakeStream): StartMessage {
  const start = decodeStart(stream.frames[0]!.body);
  if (isFault(start)) throw new Error(start.detail);
  return start;
}
function names(stream: FakeStream): string[] {
  return stream.frames.map(({ type }) => messageTypeName(type));
}
/** Each failure as `<code> <what then>`. */
function failuresOf({ failures }: FakeInvocation): string[] {
  return failures.map((failure) => `${failure.error.errorCode} ${failure.then}`);
}
const sleep = { kind: "sleep", wakeUpTimeMs: Number.MAX_SAFE_INTEGER, resultCompletionId: 1, name: "" } as const;
const waitForSleep = {
  kind: "suspension",
  awaitingOn: { completions: [1], signalIndexes: [1], signalNames: [], nested: [], combinator: "unknown" },
} as const;

describe("the way of an invocation", () => {
  test("pins its deployment before it does anything, runs, and is forgotten when its stream is gone", async () => {
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

describe("requests", () => {
  test("carry the protocol's headers, ours, the deployment's, and the trace of this attempt", async () => {
    const world = new World({ additionalHeaders: { Authorization: "Bearer x", Accept: "nothing" } });
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b" };
    const { facts } = world.partition.invoke(someFacts({ target: aTarget({ ...object, key: "a b/ü!*'()~" }), trace }), utf8(""));
    await world.turn();
    expect(world.last.request.headers).toEqual({
      "content-type": "application/vnd.restate.invocation.v6",
      accept: "application/vnd.restate.invocation.v6",
      "x-restate-invocation-id": facts.id,
      "x-restate-service-key": "a%20b%2F%C3%BC%21%2A%27%28%29~",
      "x-restate-cluster-name": "localcluster",
      traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/),
      tracestate: "a=b",
      authorization: "Bearer x",
    });
    expect(Object.keys(world.last.request.headers)[3]).toBe("x-restate-service-key");
  });

  test("without trace or key have neither header", async () => {
    const world = new World({}, { additionalRequestHeaders: {} });
    await world.invoke();
    expect(Object.keys(world.last.request.headers)).toEqual(["content-type", "accept", "x-restate-invocation-id"]);
  });

  test("are signed for the path of the service, without what stands before it in the address", async () => {
    const signed: string[] = [];
    const identity = {
      publicKey: "",
      sign: (_headers: unknown, path: string, subject: string | undefined) => signed.push(`${path} ${subject}`),
    };
    const world = new World({ address: { kind: "http", uri: "http://h/base/?q=1", httpVersion: "HTTP/2.0" } }, {}, { identity });
    await world.invoke(object);
    expect(signed).toEqual(["/invoke/Obj/add k"]);
  });
});

describe("state", () => {
  async function startWithState(target: typeof object, options: Partial<InvokerOptions> = {}): Promise<StartMessage> {
    const world = new World({}, options);
    world.partition.readState = async () =>
      new Map([
        ["pre", utf8("1")],
        ["zeta", utf8("")],
        [stateKey("ä"), utf8("3")],
      ]);
    await world.invoke(target);
    return startOf(world.last);
  }

  test("of an object goes along, in storage order", async () => {
    const start = await startWithState(object);
    expect(start).toMatchObject({ partialState: false, key: "k" });
    expect(start.state).toEqual([
      { key: utf8("pre"), value: utf8("1") },
      { key: utf8("zeta"), value: utf8("") },
      { key: utf8("ä"), value: utf8("3") },
    ]);
  });

  test("stops before the limit would be exceeded, and says so", async () => {
    const start = await startWithState(object, { eagerStateBytesMax: 9 });
    expect(start.partialState).toBe(true);
    expect(start.state.map(({ key }) => key)).toEqual([utf8("pre"), utf8("zeta")].slice(0, 2));
    expect((await startWithState(object, { eagerStateBytesMax: 7 })).state.length).toBe(1);
    expect((await startWithState(object, { eagerStateBytesMax: 0 })).state).toEqual([]);
  });

  test("is left to the handler's questions where it is lazy, and there is none in a service", async () => {
    expect(await startWithState({ ...object, handler: "lazy" })).toMatchObject({ partialState: true, state: [] });
    expect(await startWithState(aTarget() as typeof object)).toMatchObject({ partialState: true, state: [], key: "" });
  });
});

describe("retries", () => {
  test("follow the policy, count for the SDK, and end in the policy's last resort", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (const [attempt, base] of [1_000, 2_000, 4_000].entries()) {
      world.last.respond().fails(`failure ${attempt}`).close();
      await world.turn();
      expect(world.status(invocation)).toMatchObject({
        inFlight: false,
        retryCount: attempt + 1,
        lastFailure: { message: `failure ${attempt}`, errorCode: "RT0007" },
      });
      await world.pass(base - 1);
      expect(world.streams.length).toBe(attempt + 1);
      await world.pass(base / 3 + 1);
      expect(world.streams.length).toBe(attempt + 2);
      expect(startOf(world.last)).toMatchObject({ knownEntries: 1, retryCountSinceLastStoredEntry: attempt + 1 });
    }
    expect(startOf(world.last).durationSinceLastStoredEntryMs).toBeGreaterThanOrEqual(7_000);
    world.last.respond().fails("the last one").close();
    await world.turn();
    expect(invocation.status).toBe("paused");
    expect(invocation.failures.map(({ then, failureCount }) => `${failureCount} ${then}`)).toEqual([
      "1 retry",
      "2 retry",
      "3 retry",
      "4 pause",
    ]);
    expect(world.status(invocation)).toBeUndefined();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("with policy kill end with the last error", async () => {
    const world = new World({
      services: { Svc: { handlers: { run: { retryPolicy: { ...policy, maxAttempts: 1, onMaxAttempts: "kill" } } } } },
    });
    const invocation = await world.invoke();
    world.last.respond().fails("enough", { code: 503 }).close();
    await world.turn();
    expect(failuresOf(invocation)).toEqual(["RT0007 kill"]);
    expect(invocation.failures[0]?.error).toMatchObject({ code: 503, message: "enough" });
    expect(invocation.status).toBe("completed");
  });

  test("progress resets the SDK's count, not the budget", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let attempt = 1; attempt <= 4; attempt++) {
      world.last.respond().command({ kind: "run", resultCompletionId: attempt, name: "" }).fails("again").close();
      if (attempt < 4) {
        await world.pass(10_000);
        expect(startOf(world.last)).toMatchObject({ knownEntries: 1 + attempt, retryCountSinceLastStoredEntry: 1 });
      }
    }
    await world.turn();
    expect(invocation.status).toBe("paused");
  });

  test("next_retry_delay replaces one delay exactly and uses up no attempt", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let attempt = 1; attempt <= 8; attempt++) {
      world.last.respond().fails("later", { nextRetryDelayMs: 333 }).close();
      await world.pass(332);
      expect(world.streams.length).toBe(attempt);
      await world.pass(1);
      expect(world.streams.length).toBe(attempt + 1);
    }
    world.last.respond().fails("at once", { nextRetryDelayMs: 0 }).close();
    await world.pass(0);
    expect(world.streams.length).toBe(10);
    expect(invocation.failures.every(({ then }) => then === "retry")).toBe(true);
  });

  test("Retry-After is waited for, exactly", async () => {
    const world = new World();
    await world.invoke();
    world.last.listener.response(503, { "retry-after": "7" });
    expect(world.last.aborted).toBe(true);
    await world.pass(6_999);
    expect(world.streams.length).toBe(1);
    await world.pass(1);
    expect(world.streams.length).toBe(2);
  });

  test.each([
    [415, "RT0015", 0],
    [404, "RT0012", 1],
  ])("status %i is %s and makes the SDK's count %i", async (status, errorCode, count) => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.listener.response(status, {});
    await world.pass(2_000);
    expect(invocation.failures).toMatchObject([{ error: { errorCode } }]);
    expect(startOf(world.last).retryCountSinceLastStoredEntry).toBe(count);
  });

  test.each([
    ["connect", "RT0010"],
    ["reset", "RT0010"],
    ["protocol", "RT0010"],
    ["client", "RT0010"],
    ["http11Peer", "META0014"],
  ] as const)("a transport failure of kind %s is %s", async (kind, errorCode) => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.breakOff({ kind, message: "gone" });
    await world.turn();
    expect(failuresOf(invocation)).toEqual([`${errorCode} retry`]);
    expect(invocation.failures[0]?.error.message).toBe("gone");
  });

  test("PAUSE and FAIL go past the policy", async () => {
    const paused = new World();
    const first = await paused.invoke();
    paused.last.respond().fails("stop here", { behavior: "pause" }).close();
    await paused.turn();
    expect([first.status, first.failures[0]?.then]).toEqual(["paused", "pause"]);
    const failed = new World();
    const second = await failed.invoke();
    failed.last.respond().fails("for good", { behavior: "fail", code: 418 }).close();
    await failed.turn();
    expect([second.status, second.failures[0]?.then, second.failures[0]?.error.code]).toEqual(["completed", "kill", 418]);
  });

  test("the next attempt waits until all the failed one submitted is durable", async () => {
    const world = new World();
    let holding = false;
    const held: (() => void)[] = [];
    const { settled } = world.partition;
    world.partition.settled = (callback) => (holding ? held.push(callback) : settled.call(world.partition, callback));
    await world.invoke();
    holding = true;
    world.last.respond().command({ kind: "run", resultCompletionId: 1, name: "" }).fails("no").close();
    await world.pass(60_000);
    expect(world.streams.length).toBe(1);
    for (const callback of held) callback();
    await world.turn();
    expect(names(world.last)).toEqual(["Start", "Input", "Run"]);
  });

  test("back-off begins after the drain, which a sloppy endpoint can drag out for five seconds", async () => {
    const world = new World();
    await world.invoke();
    const sloppy = world.last.respond().fails("no");
    expect(sloppy.ended).toBe(true);
    await world.pass(4_999);
    expect(sloppy.aborted).toBe(false);
    await world.pass(1);
    expect(sloppy.aborted).toBe(true);
    await world.pass(999);
    expect(world.streams.length).toBe(1);
    await world.pass(400);
    expect(world.streams.length).toBe(2);
  });

  test("a signal stored while it backs off is in the replay and does not shorten the wait", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    await world.turn();
    world.partition.signal(invocation.facts.id, cancelSignalId, { kind: "void" });
    await world.pass(999);
    expect(world.streams.length).toBe(1);
    await world.pass(1_000);
    expect(names(world.last)).toEqual(["Start", "Input", "Signal"]);
  });
});

describe("time", () => {
  const quick = { services: { Svc: { handlers: { run: { ...handler, inactivityTimeoutMs: 700, abortTimeoutMs: 3_000 } } } } };

  test("a quiet stream is half-closed; every message in either direction keeps it open", async () => {
    const world = new World(quick);
    const invocation = await world.invoke();
    world.last.respond();
    await world.pass(600);
    world.last.command(sleep);
    await world.pass(600);
    world.partition.signal(invocation.facts.id, { kind: "signalIndex", index: 17 }, { kind: "void" });
    await world.pass(600);
    expect(world.last.ended).toBe(false);
    await world.pass(100);
    expect(world.last.ended).toBe(true);
    world.last.control(waitForSleep).close();
    await world.turn();
    expect(invocation.status).toBe("suspended");
    expect(world.clock.pendingTimers).toBe(1); // The sleep itself.
  });

  test("a stream that stays silent after that is aborted with RT0001", async () => {
    const world = new World(quick);
    const invocation = await world.invoke();
    world.last.respond();
    await world.pass(700);
    await world.pass(2_900);
    world.last.frame(MessageType.Run, Uint8Array.of(0x58, 1));
    await world.pass(2_900);
    expect(world.last.aborted).toBe(false);
    await world.pass(100);
    expect(world.last.aborted).toBe(true);
    expect(failuresOf(invocation)).toEqual(["RT0001 retry"]);
  });

  test("request/response has no inactivity timeout, but the abort timeout", async () => {
    const world = new World({ ...quick, protocolType: "requestResponse" });
    const invocation = await world.invoke();
    expect(world.last).toMatchObject({ ended: true, request: { requestResponse: true } });
    await world.pass(2_999);
    expect(world.last.aborted).toBe(false);
    await world.pass(1);
    expect(invocation.failures).toMatchObject([{ error: { errorCode: "RT0001" } }]);
  });

  test("an inactivity timeout of zero forces request/response", async () => {
    const world = new World({ services: { Svc: { handlers: { run: { inactivityTimeoutMs: 0 } } } } });
    await world.invoke();
    expect(world.last).toMatchObject({ ended: true, request: { requestResponse: true } });
  });

  test("an error status in the middle of the replay ends it", async () => {
    const world = new World();
    world.transport.onOpen = (stream) => {
      stream.writable = false;
    };
    await world.invoke();
    world.last.listener.response(500, {});
    const written = world.last.writes.length;
    world.last.listener.drain();
    expect([world.last.aborted, world.last.writes.length]).toEqual([true, written]);
  });
});

describe("control", () => {
  test("kill resets an open stream and nothing it says counts any more", async () => {
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
    expect(invocation.failures.map(({ then, failureCount, error }) => `${failureCount} ${then} ${error.message}`)).toEqual([
      "1 retry no",
      "1 pause no",
    ]);
    expect(world.clock.pendingTimers).toBe(0);
    await world.pass(60_000);
    expect(world.streams.length).toBe(1);
  });

  test("pause before the first attempt lets it start half-closed", async () => {
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
});

describe("deployments", () => {
  test("without one for the service the attempt is RT0011, is retried, and does not count for the SDK", async () => {
    const world = new World({ services: { Other: { handlers: {} } } }, { retryPolicyDefault: policy });
    const complete = aRegistry({ services: { Svc: { handlers: { run: handler } } } });
    const invocation = await world.invoke();
    expect(failuresOf(invocation)).toEqual(["RT0011 retry"]);
    expect(invocation.commands.some(({ kind }) => kind === "pin")).toBe(false);
    world.registry = complete;
    await world.pass(2_000);
    expect(startOf(world.last).retryCountSinceLastStoredEntry).toBe(0);
    world.last.respond().command(sleep);
    await world.turn();
    expect(invocation.pinned).toBeDefined();
  });

  test("removing the pinned one is RT0011", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    const { services } = world.registry.current();
    world.registry = aRegistryOf({ services, deployments: new Map(), rules: [] });
    await world.pass(2_000);
    expect(failuresOf(invocation).at(-1)).toBe("RT0011 retry");
  });

  test("one that needs a newer protocol is RT0013", async () => {
    const world = new World({ minProtocolVersion: 7, maxProtocolVersion: 8 });
    expect((await world.invoke()).failures).toMatchObject([{ error: { errorCode: "RT0013" } }]);
    const v7 = new World({ minProtocolVersion: 7, maxProtocolVersion: 8 }, { protocolVersionMax: 7 });
    const invocation = await v7.invoke();
    v7.last.respond().command(sleep);
    await v7.turn();
    expect(invocation.pinned).toMatchObject({ protocolVersion: 7 });
  });

  test("a pinned version nobody speaks any more is RT0014", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().command(sleep).control(waitForSleep).close();
    await world.turn();
    invocation.pinned = { deploymentId: invocation.pinned!.deploymentId, protocolVersion: 4 };
    world.partition.signal(invocation.facts.id, cancelSignalId, { kind: "void" });
    await world.turn();
    expect(failuresOf(invocation)).toEqual(["RT0014 retry"]);
  });

  test("Lambda without a Lambda transport is a failure of the attempt", async () => {
    const world = new World({
      address: { kind: "lambda", arn: "arn:aws:lambda:eu:1:function:f:1", assumeRoleArn: undefined, compression: undefined },
    });
    expect((await world.invoke()).failures).toMatchObject([{ error: { errorCode: "RT0010" } }]);
  });
});

describe("reading", () => {
  test("entries stored while the journal is read are neither lost nor told twice", async () => {
    const world = new World();
    const invocation = await world.invoke();
    world.last.respond().fails("no").close();
    await world.turn();
    let finishReading = () => {};
    let read = 0;
    world.partition.readJournal = (id, length) => {
      const before = world.partition.get(id).entries.slice(0, length);
      read = length;
      return new Promise((resolve) => {
        finishReading = () => resolve(before);
      });
    };
    await world.pass(2_000);
    expect(read).toBe(1);
    expect(world.status(invocation)?.inFlight).toBe(true);
    for (const index of [17, 18]) world.partition.signal(invocation.facts.id, { kind: "signalIndex", index }, { kind: "void" });
    await world.turn();
    finishReading();
    await world.turn();
    world.partition.signal(invocation.facts.id, { kind: "signalIndex", index: 19 }, { kind: "void" });
    await world.turn();
    expect(names(world.last)).toEqual(["Start", "Input", "Signal", "Signal", "Signal"]);
    expect(startOf(world.last).knownEntries).toBe(3);
  });

  test("a stop while reading gives the slot back and opens nothing", async () => {
    const world = new World({}, { concurrentInvocationsMax: 1 });
    world.partition.readState = () => new Promise(() => {});
    const reading = await world.invoke(object);
    const waiting = await world.invoke();
    expect(world.streams.length).toBe(0);
    world.partition.kill(reading.facts.id);
    await world.turn();
    expect(world.streams.length).toBe(1);
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(waiting.facts.id);
  });

  test("storage that fails is RT0006, retried, and not counted for the SDK", async () => {
    const world = new World();
    const healthy = world.partition.readState;
    world.partition.readState = async () => {
      throw new PerdureError("STO0001", "the disk is away");
    };
    const invocation = await world.invoke(object);
    expect(failuresOf(invocation)).toEqual(["RT0006 retry"]);
    expect(invocation.failures[0]?.error.message).toBe("journal or state could not be read: the disk is away");
    world.partition.readState = healthy;
    await world.pass(2_000);
    expect(startOf(world.last).retryCountSinceLastStoredEntry).toBe(0);
  });

  test("a signal that arrives before there is a slot is in the first replay", async () => {
    const world = new World({}, { concurrentInvocationsMax: 1 });
    await world.invoke();
    const waiting = await world.invoke();
    world.partition.signal(waiting.facts.id, { kind: "signalIndex", index: 17 }, { kind: "void" });
    await world.turn();
    world.last.respond().finish().close();
    await world.turn();
    expect(names(world.last)).toEqual(["Start", "Input", "Signal"]);
    expect(startOf(world.last).knownEntries).toBe(2);
  });
});

describe("bounds", () => {
  test("attempts beyond the limit wait in order, retries behind them", async () => {
    const world = new World({}, { concurrentInvocationsMax: 2 });
    const invocations = [await world.invoke(), await world.invoke(), await world.invoke(), await world.invoke()];
    expect(world.streams.length).toBe(2);
    expect(world.status(invocations[2]!)).toMatchObject({ inFlight: false, retryCount: 0 });
    world.streams[0]!.respond().fails("no").close();
    await world.turn();
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(invocations[2]!.facts.id);
    await world.pass(2_000);
    world.streams[1]!.respond().finish().close();
    await world.turn();
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(invocations[3]!.facts.id);
    world.streams[2]!.respond().finish().close();
    await world.turn();
    expect(world.last.request.headers["x-restate-invocation-id"]).toBe(invocations[0]!.facts.id);
  });

  test("held: what runs is broken off, nothing begins and no attempt is used up; then all goes on", async () => {
    const slots = new Slots(10);
    const world = new World({}, {}, { slots });
    const broken = await world.invoke();
    world.last.respond();
    slots.hold(true);
    const interruption = { errorCode: "TEN0003", message: "full", nextRetryDelayMs: 1_000 } as const;
    for (let i = 0; i < 10; i++) world.invoker.interrupt(interruption); // More often than the policy has attempts.
    expect(world.last.aborted).toBe(true);
    const waiting = await world.invoke();
    await world.pass(5_000);
    expect(world.streams.length).toBe(1);
    expect(failuresOf(broken)).toEqual(["TEN0003 retry"]);
    slots.hold(false);
    await world.turn();
    expect(world.streams.length).toBe(3);
    for (const stream of world.streams.slice(1)) stream.respond().finish().close();
    await world.turn();
    expect([broken.status, waiting.status]).toEqual(["completed", "completed"]);
  });

  test("an attempt that is cut off is reset and tried again, more often than its policy has attempts", async () => {
    const world = new World();
    const invocation = await world.invoke();
    for (let i = 1; i <= 10; i++) {
      world.last.respond();
      expect(world.invoker.cutAttempt(invocation.facts.id)).toEqual({ attempt: i, journalLength: 1 });
      expect(world.last.aborted).toBe(true);
      expect(world.invoker.cutAttempt(invocation.facts.id)).toBeUndefined(); // Another one has not begun yet.
      await world.turn();
      expect(world.invoker.status(invocation.facts.id)?.lastFailure?.errorCode).toBe("RT0101");
      await world.pass(5_000);
      expect(world.streams.length).toBe(i + 1);
    }
    expect(failuresOf(invocation)).toEqual(Array.from({ length: 10 }, () => "RT0101 retry"));
    world.last.respond().finish();
    expect(world.invoker.cutAttempt(invocation.facts.id)).toBeUndefined(); // Its last word is said.
    world.last.close();
    await world.turn();
    expect(invocation.status).toBe("completed");
    expect(world.invoker.cutAttempt(invocation.facts.id)).toBeUndefined();
  });

  test("many that fail at once for want of a slot's use do not pile up", async () => {
    const world = new World({ services: { Other: { handlers: {} } } }, { concurrentInvocationsMax: 1 });
    world.registry = aRegistry({ services: { Svc: { handlers: { run: handler } } } });
    const blocking = await world.invoke();
    const many = Array.from({ length: 20_000 }, () => world.partition.invoke(someFacts(), utf8("")));
    const { deployments } = world.registry.current();
    world.registry = aRegistryOf({ services: new Map(), deployments, rules: [] });
    world.partition.kill(blocking.facts.id);
    await world.turn();
    expect(many.every(({ failures }) => failures[0]?.error.errorCode === "RT0011")).toBe(true);
  });

  test("an attempt whose commands are not settled stops reading, and goes on when they are", async () => {
    const world = new World();
    const invocation = await world.invoke(object);
    world.last.respond();
    const value = new Uint8Array(100_000);
    let commands = 0;
    for (; !world.last.readingPaused && commands < 100; commands++) {
      world.last.command({ kind: "setState", stateKey: utf8("k"), value, name: "" });
    }
    expect(commands).toBe(11);
    await world.turn();
    expect(world.last.readingPaused).toBe(false);
    expect(invocation.entries.length).toBe(1 + commands);
  });

  test("while we do not listen, the endpoint's silence does not count against it", async () => {
    const world = new World({
      services: { Svc: { handlers: { run: { ...handler, inactivityTimeoutMs: 700, abortTimeoutMs: 700 } } } },
    });
    const held: (() => void)[] = [];
    world.partition.settled = (callback) => held.push(callback);
    const invocation = await world.invoke();
    world.last.respond();
    for (let i = 0; !world.last.readingPaused; i++) world.last.command({ kind: "run", resultCompletionId: i, name: "" });
    await world.pass(10_000);
    expect([world.last.ended, world.last.aborted]).toEqual([false, false]);
    for (const callback of held.splice(0)) callback();
    expect(world.last.readingPaused).toBe(false);
    await world.pass(700);
    expect(world.last.ended).toBe(true);
    expect(invocation.failures).toEqual([]);
  });

  test("so does one with many small commands", async () => {
    const world = new World();
    await world.invoke(object);
    world.last.respond();
    let commands = 0;
    for (; !world.last.readingPaused && commands < 5_000; commands++)
      world.last.command({ kind: "clearState", stateKey: utf8("k"), name: "" });
    expect(commands).toBe(1_025);
    await world.turn();
    expect(world.last.readingPaused).toBe(false);
  });

  test("what the partition tells in one turn leaves in one write", async () => {
    const world = new World();
    const invocation = await world.invoke();
    const before = world.last.writes.length;
    for (let index = 17; index < 27; index++)
      world.partition.signal(invocation.facts.id, { kind: "signalIndex", index }, { kind: "void" });
    await world.turn();
    expect(world.last.writes.length).toBe(before + 1);
    expect(names(world.last).filter((name) => name === "Signal").length).toBe(10);
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
    },
  ]);
  world.last.fails("no").close();
  await world.turn();
  const status = world.status(invocation)!;
  expect(status).toMatchObject({ inFlight: false, lastAwaitingJson: undefined, lastFailure: { message: "no" } });
  expect(status.nextRetryAtMs! - world.clock.nowMs()).toBeGreaterThanOrEqual(1_000);
});
