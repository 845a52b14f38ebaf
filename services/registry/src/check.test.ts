/** Tests of the sample that a check takes within its bounds, and of its report on the rest, for any result of endpoints. */
import { afterEach, describe, expect, test } from "@jest/globals";
import type { ReplayResult } from "@perdure/invoker";
import { createMemoryMetadataStore } from "@perdure/metadata";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { CHECKED_ENTRIES_MAX, CHECKED_JOURNAL_BYTES_MAX, FINDING_MESSAGE_CHARS_MAX, FINDINGS_MAX } from "./limits.js";
import { anError, COMPATIBLE, endpoints, entries, OLD, RegistryWorld, signal } from "./testing/check-world.js";
import { aRegisterRequest, aWireService, createTestRegistry } from "./testing/index.js";

afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint[Symbol.asyncDispose]();
});

describe("chosen are", () => {
  test("those in flight on what is replaced, then on what serves now, then older; the last touched first", async () => {
    const world = await RegistryWorld.open();
    const uri = await world.serve();
    const { deployment } = await world.registry.register(aRegisterRequest(uri), signal);
    const latest = (await world.registry.register(aRegisterRequest(await world.serve()), signal)).deployment.id;
    const older = world.add({ n: 1, at: 90 });
    const now = world.add({ n: 2, at: 10, deployment: latest });
    const earlier = world.add({ n: 3, at: 10, deployment: deployment.id });
    const later = world.add({ n: 4, at: 20, deployment: deployment.id });
    await world.registry.checkRegistration(aRegisterRequest(uri, { force: true }), { concurrency: 1 }, signal);
    expect(world.checkedIds).toEqual([later, earlier, now, older]);
  });

  test("a few of each handler, which take turns, and completed ones last, the latest first", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= 5; n++) world.add({ n });
    const other = world.add({ n: 10, target: { handler: "b" } });
    const done = [20, 21, 22].map((n) => world.add({ n, status: "completed" }));
    const verification = await world.check({ inFlightPerHandler: 2, completedPerHandler: 2, concurrency: 1 });
    expect(world.checkedIds).toEqual([anId(5, 185), other, anId(4, 148), done[2], done[1]]);
    expect(verification).toMatchObject({ found: 9, checked: 5, compatible: 5, isComplete: false });
    expect(world.checks.map(({ subject }) => subject.isCompleted)).toEqual([false, false, false, true, true]);
  });

  test("no more in all than requested", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= 9; n++) world.add({ n });
    expect(await world.check({ invocations: 4 })).toMatchObject({ found: 9, checked: 4, isComplete: false });
  });

  test("none that has not begun, and none of other services", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1, length: 0 });
    world.rows.push(anInvocation("invoked", { facts: someFacts({ id: anId(2) }), pinned: undefined }));
    world.add({ n: 3, target: { service: "Other" } });
    expect(await world.check()).toMatchObject({ found: 0, checked: 0, isComplete: true, findings: [] });
  });

  test("only suspended and paused ones for an existing deployment, unless more are requested", async () => {
    const world = await RegistryWorld.open();
    const { deployment } = await world.registry.register(aRegisterRequest(await world.serve()), signal);
    world.add({ n: 1, status: "invoked" });
    const suspended = world.add({ n: 2 });
    const paused = world.add({ n: 3, status: "paused", deployment: deployment.id });
    const done = world.add({ n: 4, status: "completed" });
    expect(await world.registry.checkDeployment(deployment.id, {}, signal)).toMatchObject({ found: 2, isComplete: true });
    expect(world.checkedIds).toEqual([suspended, paused]);
    await world.registry.checkDeployment(deployment.id, { completedPerHandler: 1 }, signal);
    expect(world.checkedIds.slice(2)).toEqual([suspended, paused, done]);
  });
});

describe("not replayed are", () => {
  test("handlers that are not there: in flight they would fail, completed they are done", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1, target: { handler: "gone" } });
    const first = world.add({ n: 2, target: { handler: "gone" } });
    world.add({ n: 3, target: { handler: "gone" }, status: "completed" });
    expect(await world.check()).toMatchObject({
      checked: 0,
      incompatible: 2,
      findings: [{ kind: "handlerMissing", handler: "gone", invocations: 2, invocationId: first, deploymentId: OLD }],
    });
  });

  test("versions that the new code does not speak", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1, version: 5 });
    world.add({ n: 2, version: 5, status: "completed" });
    const verification = await world.check({}, undefined, { minProtocolVersion: 6 });
    expect(verification).toMatchObject({ checked: 0, incompatible: 1, skipped: 1 });
    expect(verification.findings.map(({ kind, status }) => [kind, status])).toEqual([
      ["protocolVersion", "suspended"],
      ["skipped", "completed"],
    ]);
  });

  test("handlers that opted out, or whose service did, unless the handler sets otherwise", async () => {
    const world = await RegistryWorld.open();
    for (const [n, handler] of ["a", "b", "c"].entries()) world.add({ n: n + 1, target: { handler } });
    const off = { "perdure.replay-check": "off" };
    const handlers = [{ name: "a" }, { name: "b", metadata: { "perdure.replay-check": "on" } }, { name: "c", metadata: off }];
    expect(await world.check({}, [aWireService("S", [], { handlers, metadata: off })])).toMatchObject({ checked: 1, skipped: 2 });
    expect(world.checks[0]?.subject.facts.target.handler).toBe("b");
  });

  test("journals that are too long, too large or removed", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1, length: CHECKED_ENTRIES_MAX + 1 });
    world.journals.set(world.add({ n: 2, length: 1 }), entries(1, CHECKED_JOURNAL_BYTES_MAX + 1));
    world.journals.set(world.add({ n: 3, length: 2 }), entries(1, 1));
    expect(await world.check()).toMatchObject({ found: 3, checked: 0, skipped: 3, isComplete: false });
  });

  test("what comes after the bytes are used up", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= 4; n++) world.journals.set(world.add({ n, length: 1 }), entries(1, 100));
    expect(await world.check({ bytes: 150, concurrency: 1 })).toMatchObject({ checked: 2, skipped: 2, isComplete: false });
  });
});

describe("the endpoint is requested", () => {
  test("with the state of the key, unless the handler reads it lazily", async () => {
    const world = await RegistryWorld.open();
    const target = { key: "k", service: "O", serviceType: "virtualObject", handlerType: "exclusive" } as const;
    world.add({ n: 1, target: { ...target, handler: "eager" } });
    world.add({ n: 2, target: { ...target, handler: "lazy" } });
    world.add({ n: 3, target: { ...target, handler: "eager", scope: "tenant" } });
    const handlers = [{ name: "eager" }, { name: "lazy", enableLazyState: true }];
    await world.check({ concurrency: 1 }, [{ name: "O", ty: "VIRTUAL_OBJECT", handlers }]);
    const withState = world.checks.filter(({ subject }) => subject.state !== undefined);
    expect(withState.map(({ subject }) => subject.facts.target.handler)).toEqual(["eager", "eager"]);
    expect(world.stateReads.map((read) => read.slice(2)).sort()).toEqual(["O k", "O@tenant k"]);
  });

  test("a few journals at a time, each within its time", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= 9; n++) world.add({ n });
    let now = 0;
    let most = 0;
    world.answer = async () => {
      most = Math.max(most, ++now);
      await new Promise<void>((resolve) => void setImmediate(resolve));
      now--;
      return COMPATIBLE;
    };
    await world.check({ concurrency: 3, replayTimeoutMs: 77 });
    expect(most).toBe(3);
    expect(new Set(world.checks.map(({ timeoutMs }) => timeoutMs))).toEqual(new Set([77]));
  });

  test("until the time is over; the rest is skipped", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= 5; n++) world.add({ n });
    world.answer = (_subject, given) =>
      new Promise((resolve) => {
        given.addEventListener("abort", () => resolve({ kind: "failed", error: anError("given up") }));
        if (world.checks.length === 2) world.clock.advanceBy(1_000);
      });
    const verification = await world.check({ concurrency: 2, timeoutMs: 1_000 });
    expect(verification).toMatchObject({ found: 5, checked: 0, failed: 0, skipped: 5, isComplete: false, durationMs: 1_000 });
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("until the client has disconnected", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1 });
    const leave = new AbortController();
    world.answer = () => {
      leave.abort(new Error("gone"));
      return COMPATIBLE;
    };
    const uri = await world.serve();
    await expect(world.registry.checkRegistration(aRegisterRequest(uri), {}, leave.signal)).rejects.toThrow("gone");
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("not at all when it could not be registered", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1 });
    const uri = await world.serve();
    await world.registry.register(aRegisterRequest(uri), signal);
    await expect(world.registry.checkRegistration(aRegisterRequest(uri), {}, signal)).rejects.toMatchObject({ code: "META0004" });
    expect(world.checks).toEqual([]);
  });
});

describe("findings", () => {
  const mismatch = (index: number, name: string, message = "differs"): ReplayResult => ({
    kind: "mismatch",
    commandIndex: index,
    expected: { type: "Run", name: "a" },
    actual: { type: "Run", name },
    error: anError(message, { stacktrace: "at x" }),
  });

  test("at one position of a handler are one, the worst come first, then by position, in whatever order replays end", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= 6; n++) world.add({ n });
    const results: ReplayResult[] = [
      { kind: "unclear", error: anError("who knows") },
      { kind: "compatible", output: "differs" },
      mismatch(4, "b"),
      mismatch(3, "b", "one"),
      { kind: "failed", error: anError("boom", { errorCode: "RT0007" }) },
      mismatch(3, "b", "two"),
    ];
    world.answer = () => results.shift() ?? COMPATIBLE;
    const verification = await world.check({ concurrency: 1 });
    expect(verification).toMatchObject({ checked: 6, compatible: 1, incompatible: 3, failed: 1, skipped: 0, findingsLeftOut: 0 });
    expect(
      verification.findings.map(({ kind, invocations, commandIndex, message }) => [kind, invocations, commandIndex, message]),
    ).toEqual([
      ["journalMismatch", 2, 3, "one"],
      ["journalMismatch", 1, 4, "differs"],
      ["failed", 1, undefined, "boom"],
      ["unclear", 1, undefined, "who knows"],
      ["outputDiffers", 1, undefined, "the new code gives another output than the one stored"],
    ]);
    expect(verification.findings[0]).toMatchObject({
      code: "RT0016",
      actual: { type: "Run", name: "b" },
      stacktrace: "at x",
      status: "suspended",
    });
  });

  test("are bounded in number and length", async () => {
    const world = await RegistryWorld.open();
    for (let n = 1; n <= FINDINGS_MAX + 5; n++) world.add({ n });
    let index = 0;
    world.answer = () => mismatch(index++, "b", "x".repeat(100_000));
    const verification = await world.check({ inFlightPerHandler: 1_000 });
    expect([verification.findings.length, verification.findingsLeftOut, verification.incompatible]).toEqual([
      FINDINGS_MAX,
      5,
      FINDINGS_MAX + 5,
    ]);
    expect(verification.findings[0]?.message).toHaveLength(FINDING_MESSAGE_CHARS_MAX);
  });
});

describe("the findings of a check", () => {
  test("is kept with the deployment over a restart, until other code replaces it", async () => {
    const metadata = createMemoryMetadataStore();
    const world = await RegistryWorld.open(metadata);
    world.add({ n: 1 });
    world.answer = () => ({ kind: "failed", error: anError("boom", { errorCode: "RT0007" }) });
    const uri = await world.serve();
    const verification = await world.registry.checkRegistration(aRegisterRequest(uri), {}, signal);
    expect(world.registry.deployments()).toEqual([]);
    const { deployment } = await world.registry.register(aRegisterRequest(uri, { verification }), signal);
    expect(deployment.verification).toEqual(verification);
    const again = await RegistryWorld.open(metadata);
    expect(again.registry.deployment(deployment.id)?.verification).toEqual(verification);

    const newer = { ...verification, checkedAtMs: verification.checkedAtMs + 1 };
    const same = aRegisterRequest(uri, { acceptUnchanged: true });
    expect(await world.registry.register({ ...same, dryRun: true, verification: newer }, signal)).toMatchObject({
      kind: "unchanged",
      deployment: { verification: newer },
    });
    expect(world.registry.deployment(deployment.id)?.verification).toEqual(verification);
    await world.registry.register({ ...same, verification: newer }, signal);
    expect(world.registry.deployment(deployment.id)?.verification).toEqual(newer);
    await world.registry.register(same, signal);
    expect(world.registry.deployment(deployment.id)?.verification).toEqual(newer);
    await world.registry.register(aRegisterRequest(uri, { force: true }), signal);
    expect(world.registry.deployment(deployment.id)?.verification).toBeUndefined();
  });

  test("are not stored for code that was replaced during the check", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1 });
    const uri = await world.serve();
    const { deployment } = await world.registry.register(aRegisterRequest(uri), signal);
    world.answer = async () => {
      world.clock.advanceBy(1);
      await world.registry.register(aRegisterRequest(uri, { force: true }), signal);
      return COMPATIBLE;
    };
    expect(await world.registry.checkDeployment(deployment.id, {}, signal)).toMatchObject({ compatible: 1 });
    expect(world.registry.deployment(deployment.id)?.verification).toBeUndefined();
  });

  test("is removed when the deployment is updated in place", async () => {
    const world = await RegistryWorld.open();
    world.add({ n: 1 });
    const { deployment } = await world.registry.register(aRegisterRequest(await world.serve()), signal);
    await world.registry.checkDeployment(deployment.id, {}, signal);
    expect(world.registry.deployment(deployment.id)?.verification).toMatchObject({ checked: 1 });
    const change = { address: undefined, additionalHeaders: undefined, overwrite: true, dryRun: false };
    expect((await world.registry.update(deployment.id, change, signal)).verification).toBeUndefined();
  });
});

test("are refused with the reason by a registry that cannot check", async () => {
  const registry = await createTestRegistry();
  const world = await RegistryWorld.open();
  await expect(registry.checkRegistration(aRegisterRequest("http://127.0.0.1:1"), {}, signal)).rejects.toMatchObject({
    status: 400,
  });
  await expect(registry.checkDeployment(OLD, {}, signal)).rejects.toMatchObject({ status: 400 });
  await expect(world.registry.checkDeployment(OLD, {}, signal)).rejects.toMatchObject({ status: 404 });
});
