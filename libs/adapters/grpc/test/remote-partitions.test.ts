import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { fromUtf8, type OperationId, siblingInvocationId, silentLogger, systemClock, systemRandom, utf8 } from "@perdure/base";
import type { Completion } from "@perdure/control";
import { type Invocation, type Invoke, stateVersion } from "@perdure/state-machine";
import { MemoryKeyValue } from "@perdure/storage";
import { makeCertificates } from "@perdure/testkit";
import { DirectoryWatch, LeaderDirectory, type MutualTls, RemotePartitions, WorkerLink } from "../src/index.js";
import { anInvoke, CARRIERS, type Carrier, connectTo, TestWorker } from "../src/testing/index.js";

const opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

let carrier: Carrier = "gRPC";

async function worker(kv: MemoryKeyValue, options: Parameters<typeof TestWorker.start>[1]): Promise<TestWorker> {
  const started = await TestWorker.start(kv, { carrier, ...options });
  opened.push(() => started[Symbol.asyncDispose]());
  return started;
}

/** A gateway that starts with the address of the first worker only. */
function gateway(seed: TestWorker, tls?: MutualTls) {
  const directory = new LeaderDirectory();
  const links = new Map<string, WorkerLink>();
  const link = (address: string): WorkerLink => {
    const link = links.get(address) ?? new WorkerLink(address, connectTo(address, tls));
    links.set(address, link);
    return link;
  };
  const open = (address: string) => connectTo(address, tls);
  const watch = new DirectoryWatch({ directory, open, clock: systemClock, logger: silentLogger }, [seed.address]);
  const partitions = new RemotePartitions({ directory, link, clock: systemClock });
  opened.push(() => {
    watch.close();
    partitions.close();
    for (const each of links.values()) each.close();
  });
  return { partitions, directory, links };
}

interface CallRecord {
  readonly submitted: (Invocation | undefined)[];
  readonly outcome: Promise<string>;
  readonly accepted: Promise<void>;
}

/** Submits and listens. */
function call(partitions: RemotePartitions, command: Invoke): CallRecord {
  const submitted: (Invocation | undefined)[] = [];
  let accept: () => void = () => undefined;
  const accepted = new Promise<void>((resolve) => {
    accept = resolve;
  });
  const outcome = new Promise<string>((resolve) => {
    partitions.invoke(command, true, {
      submitted(previous) {
        submitted.push(previous);
        accept();
      },
      completed: ({ outcome }: Completion) =>
        resolve(outcome.kind === "success" ? fromUtf8(outcome.value) : `failed: ${outcome.failure.message}`),
      unavailable: (reason) => resolve(`unavailable: ${reason}`),
    });
  });
  return { submitted, outcome, accepted };
}

/** The results of delivering an outbox message, once for each callback. */
function outcomeOfDelivery(partitions: RemotePartitions, command: Invoke) {
  const outcome: string[] = [];
  const promise = new Promise<void>((resolve) => {
    const record = (what: string) => () => {
      outcome.push(what);
      resolve();
    };
    partitions.deliver({ command, producer: "p9", seq: 1, after: undefined }, record("delivered"), record("undelivered"));
  });
  return { outcome, promise };
}

/** What the throttle answers, or the event that came instead. */
function refusalOf(partitions: RemotePartitions, command: Invoke): Promise<unknown> {
  return new Promise((resolve) => {
    const unexpected = (what: string) => () => resolve(what);
    partitions.invoke(command, true, {
      submitted: unexpected("submitted"),
      completed: unexpected("completed"),
      unavailable: resolve,
      throttled: resolve,
    });
  });
}

describe.each(CARRIERS)("a partition led in another process, over %s,", (over) => {
  beforeAll(() => {
    carrier = over;
  });
  afterAll(() => {
    carrier = "gRPC";
  });

  test("takes invocations, reports that they are durable and their outcome", async () => {
    const { partitions } = gateway(await worker(new MemoryKeyValue(), { epoch: 1 }));
    const commands = Array.from({ length: 500 }, () => anInvoke());
    const calls = commands.map((command) => call(partitions, command));
    expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual(commands.map(({ id }) => `done ${id}`));
    expect(calls.every(({ submitted }) => submitted.length === 1 && submitted[0] === undefined)).toBe(true);
  });

  test.each([
    ["of this release", false],
    ["of v0.1", true],
  ])("by a worker %s answers verbs, descriptions, attaching and outputs like one led here", async (_release, isV01) => {
    const leader = await worker(new MemoryKeyValue(), { epoch: 1, isHolding: true, isV01 });
    const { partitions } = gateway(leader);
    const command = anInvoke();
    const { accepted, outcome } = call(partitions, command);
    await accepted;
    expect(await partitions.describe(command.id)).toMatchObject({ status: "invoked", facts: { id: command.id } });
    expect(await partitions.output(command.id)).toEqual({ kind: "pending" });
    expect(await partitions.submit({ kind: "purge", id: command.id })).toEqual({ kind: "notCompleted" });
    const restart = { id: command.id, newId: anInvoke().id, from: 0, moveTo: undefined, keepDeployment: false };
    expect(await partitions.submit({ kind: "restartAsNew", ...restart })).toEqual({ kind: "stillRunning" });
    const signal = { kind: "signalName", name: "note" } as const;
    const result = { kind: "void" } as const;
    expect(await partitions.submit({ kind: "signal", id: command.id, signal, result })).toEqual({ kind: "done" });
    const attached = new Promise<Completion>((resolve, reject) => {
      partitions.attach(command.id, { completed: resolve, notFound: reject, unavailable: reject });
    });
    expect(await partitions.submit({ kind: "kill", id: command.id })).toEqual({ kind: "done" });
    expect(await outcome).toBe("failed: killed");
    expect(await attached).toMatchObject({ outcome: { kind: "failure", failure: { code: 409 } } });
    expect(await partitions.output(command.id)).toMatchObject({
      kind: "completed",
      completion: { expiresAtMs: expect.any(Number) },
    });
    expect(await partitions.submit({ kind: "purge", id: command.id })).toEqual({ kind: "done" });
    expect(await partitions.describe(command.id)).toBeUndefined();
    const missing = new Promise((resolve) => {
      partitions.attach(command.id, { completed: resolve, notFound: () => resolve("not found"), unavailable: resolve });
    });
    expect(await missing).toBe("not found");
  });

  test("an undo, which a worker of v0.1 cannot do, is refused with the reason, and the partition continues", async () => {
    const leader = await worker(new MemoryKeyValue(), { epoch: 1, isHolding: true, isV01: true });
    const { partitions } = gateway(leader);
    const command = anInvoke();
    const { accepted } = call(partitions, command);
    await accepted;
    const operation = "op_15ChR1PDwZt22Rn2lfZrRo5" as OperationId;
    const undo = { kind: "undo", id: command.id, operation, sink: undefined } as const;
    const refused = { code: "STO0002", detail: expect.stringContaining("v0.1, which cannot undo a change") };
    expect(await partitions.submit({ kind: "kill", id: command.id, undo: { operation, untilMs: Date.now() + 60_000 } })).toEqual({
      kind: "done",
    });
    await expect(partitions.submit(undo)).rejects.toMatchObject(refused);
    await expect(partitions.submit(undo)).rejects.toMatchObject(refused);
    expect(await partitions.describe(command.id)).toMatchObject({ status: "completed" });
  });

  /** A gateway that loses the first answer of a leader that it calls directly. */
  function losingOneAnswer({ directory, links }: ReturnType<typeof gateway>, { address }: TestWorker): RemotePartitions {
    const link = links.get(address) as WorkerLink;
    let lost = 0;
    const lossy = Object.create(link, {
      request: {
        value: (body: Parameters<WorkerLink["request"]>[0], pending: Parameters<WorkerLink["request"]>[1]) =>
          link.request(body, {
            id: pending.id,
            answered: (response) => {
              if (lost++ > 0) return pending.answered(response);
              pending.broken("the answer was lost");
              return true;
            },
            broken: (reason) => pending.broken(reason),
          }),
      },
    }) as WorkerLink;
    const partitions = new RemotePartitions({ directory, link: () => lossy, clock: systemClock });
    opened.push(() => partitions.close());
    return partitions;
  }

  test.each([
    ["kill", "done"],
    ["cancel", "pending"],
    ["resume", "done"],
  ] as const)("a repeated %s of a completed invocation, whose answer was lost, is %s", async (kind, answer) => {
    const leader = await worker(new MemoryKeyValue(), { epoch: 1 });
    const direct = gateway(leader);
    const completed = anInvoke();
    await call(direct.partitions, completed).outcome;
    const command = { kind, id: completed.id, moveTo: undefined };
    expect(await losingOneAnswer(direct, leader).submit(command)).toEqual({ kind: answer });
    expect(await direct.partitions.submit(command)).toEqual({ kind: "alreadyCompleted" });
  });

  test.each(["kill", "cancel", "purge"] as const)(
    "a repeated %s that leaves no row, and whose answer was lost, is done",
    async (kind) => {
      const leader = await worker(new MemoryKeyValue(), { epoch: 1 });
      const direct = gateway(leader);
      const invoke = anInvoke(kind === "purge" ? {} : { executionTimeMs: Date.now() + 3_600_000 });
      const { accepted, outcome } = call(direct.partitions, invoke);
      await (kind === "purge" ? outcome : accepted);
      expect(await losingOneAnswer(direct, leader).submit({ kind, id: invoke.id })).toEqual({ kind: "done" });
      expect(await direct.partitions.submit({ kind, id: invoke.id })).toEqual({ kind: "notFound" });
    },
  );

  test("an edit of a state is repeated only when it names the version that it replaces", async () => {
    const leader = await worker(new MemoryKeyValue(), { epoch: 1 });
    const direct = gateway(leader);
    const { id } = anInvoke();
    const edit = (value: string, expectedVersion: string | undefined) =>
      ({
        kind: "mutateState",
        id,
        service: "Counter",
        key: "k",
        exclusive: true,
        expectedVersion,
        entries: [{ key: "n", value: utf8(value) }],
      }) as const;
    expect(await direct.partitions.describe(id)).toBeUndefined(); // The leader is in the directory then.
    const unversioned = losingOneAnswer(direct, leader).submit(edit("1", undefined));
    await expect(unversioned).rejects.toThrow(/STO0002.*may have been carried out or not/);
    const version = stateVersion([["n", utf8("1")]]);
    expect(await losingOneAnswer(direct, leader).submit(edit("2", version))).toEqual({ kind: "done" });
    expect(await direct.partitions.submit(edit("3", version))).toEqual({ kind: "versionMismatch" });
  });

  test("refuses what the throttle of a command does not admit, with the newest invocation", async () => {
    const { partitions } = gateway(await worker(new MemoryKeyValue(), { epoch: 1 }));
    const throttle = { key: "k", periodMs: 3_600_000, limit: 1 };
    const first = { ...anInvoke(), throttle };
    expect(await call(partitions, first).outcome).toBe(`done ${first.id}`);
    const sibling = siblingInvocationId(first.id, Date.now(), systemRandom);
    const second = { ...first, id: sibling, facts: { ...first.facts, id: sibling } };
    expect(await refusalOf(partitions, second)).toMatchObject({ kind: "throttled", newestId: first.id, admittedCount: 1 });
    const repeated = call(partitions, { ...first, resubmission: true });
    expect(await repeated.outcome).toBe(`done ${first.id}`);
  });

  test("refuses a throttle key that its partition has no space for", async () => {
    const { partitions } = gateway(await worker(new MemoryKeyValue(), { epoch: 1, throttleKeysMax: 1 }));
    const first = { ...anInvoke(), throttle: { key: "a", periodMs: 3_600_000, limit: 2 } };
    expect(await call(partitions, first).outcome).toBe(`done ${first.id}`);
    const sibling = siblingInvocationId(first.id, Date.now(), systemRandom);
    const second = { ...first, id: sibling, facts: { ...first.facts, id: sibling }, throttle: { ...first.throttle, key: "b" } };
    expect(await refusalOf(partitions, second)).toEqual({ kind: "throttleKeysFull" });
  });

  test("names the invocation that was there before", async () => {
    const { partitions } = gateway(await worker(new MemoryKeyValue(), { epoch: 1 }));
    const first = anInvoke({ idempotencyKey: "once" });
    await call(partitions, first).outcome;
    const again = call(partitions, { ...first, facts: { ...first.facts, requestId: 99, bytes: undefined } });
    expect(await again.outcome).toBe(`done ${first.id}`);
    expect(again.submitted).toMatchObject([{ status: "completed", facts: { id: first.id } }]);
  });

  test("that moves is followed: waiting callers get the outcome from the new leader, and nothing runs twice", async () => {
    const kv = new MemoryKeyValue();
    const old = await worker(kv, { epoch: 1, isHolding: true });
    const { partitions, directory } = gateway(old);
    const commands = Array.from({ length: 50 }, () => anInvoke());
    const waiting = commands.map((command) => call(partitions, command));
    await Promise.all(waiting.map(({ accepted }) => accepted));

    const next = await worker(kv, { epoch: 2 });
    old.kill();
    const queuedCall = call(partitions, anInvoke()); // Called while the directory has no leader.
    directory.learn(next.claims(2));
    expect(await Promise.all(waiting.map(({ outcome }) => outcome))).toEqual(commands.map(({ id }) => `done ${id}`));
    expect(waiting.every(({ submitted }) => submitted.length === 1)).toBe(true);
    expect(await queuedCall.outcome).toMatch(/^done /);
    expect(next.processor.counters.completed).toBe(51);
  });

  test("is followed while its former leader is frozen, without waiting for a timeout", async () => {
    const kv = new MemoryKeyValue();
    const frozen = await worker(kv, { epoch: 1, isHolding: true });
    const { partitions, directory, links } = gateway(frozen);
    const commands = Array.from({ length: 20 }, () => anInvoke());
    const waiting = commands.map((command) => call(partitions, command));
    await Promise.all(waiting.map(({ accepted }) => accepted));
    const { outcome: delivered, promise } = outcomeOfDelivery(partitions, anInvoke());
    const next = await worker(kv, { epoch: 2 });
    directory.learn(next.claims(2));
    expect(await Promise.all(waiting.map(({ outcome }) => outcome))).toEqual(commands.map(({ id }) => `done ${id}`));
    await promise;
    expect(delivered.length).toBe(1);
    expect(links.get(frozen.address)?.openCount).toBe(0);
  });

  test("learns of a new leader from a worker whose address it got from another one", async () => {
    const kv = new MemoryKeyValue();
    const first = await worker(kv, { epoch: 1 });
    const { partitions, directory } = gateway(first);
    await call(partitions, anInvoke()).outcome;
    const second = await worker(kv, { epoch: 2 });
    first.directory.learn({ ...second.claims(2), workers: [first.address, second.address] });
    expect(await call(partitions, anInvoke()).outcome).toMatch(/^done /);
    expect(directory.leaderOf(0)).toEqual({ partition: 0, epoch: 2, address: second.address });
    first.kill();
    second.directory.learn({ ...second.claims(3), workers: [second.address] });
    while (directory.leaderOf(0)?.epoch !== 3) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(directory.workers).toEqual([second.address]);
  });

  test("drops callers that hang up, not their invocations", async () => {
    const leader = await worker(new MemoryKeyValue(), { epoch: 1, isHolding: true });
    const { partitions, links } = gateway(leader);
    const command = anInvoke();
    const detach = await new Promise<() => void>((resolve) => {
      const detach = partitions.invoke(command, true, {
        submitted: () => resolve(() => detach.detach()),
        completed: () => expect("called").toBe("not called"),
        unavailable: () => expect("called").toBe("not called"),
      });
    });
    detach();
    expect(links.get(leader.address)?.openCount).toBe(0);
    expect(await partitions.describe(command.id)).toMatchObject({ status: "invoked" });
    leader.invoker.letGo();
    expect(await partitions.output(command.id)).toMatchObject({ kind: "completed" });
  });

  test("takes a message of an outbox once, however often it comes", async () => {
    const leader = await worker(new MemoryKeyValue(), { epoch: 1 });
    const { partitions, directory } = gateway(leader);
    const command = anInvoke();
    const deliver = (seq = 7, after?: number) =>
      new Promise<boolean>((resolve) => {
        const delivery = { command, producer: "p9", seq, after };
        partitions.deliver(
          delivery,
          () => resolve(true),
          () => resolve(false),
        );
      });
    expect(await deliver()).toBe(false); // The directory has no leader yet.
    while (directory.partitionCount === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect([await deliver(), await deliver(), await deliver()]).toEqual([true, true, true]);
    expect(await partitions.output(command.id)).toMatchObject({ kind: "completed" });
    expect(leader.processor.counters.completed).toBe(1);
    // What was to come first is not here: the one after it must wait.
    expect([await deliver(9, 8), await deliver(8, 7), await deliver(9, 8)]).toEqual([false, true, true]);
  });

  test("carries large payloads whole", async () => {
    const { partitions } = gateway(await worker(new MemoryKeyValue(), { epoch: 1 }));
    const input = new Uint8Array(24 * 1024 * 1024).fill(7);
    const commands = [1, 2, 3].map(() => ({ ...anInvoke(), input }));
    const outcomes = await Promise.all(commands.map((command) => call(partitions, command).outcome));
    expect(outcomes).toEqual(commands.map(({ id }) => `done ${id}`));
  }, 60_000); // Over seventy megabytes through windows of flow control: many turns of both sides.
});

describe("with certificates", () => {
  test("client and server authenticate each other", async () => {
    const { trusted, untrusted } = await makeCertificates();
    const leader = await worker(new MemoryKeyValue(), { epoch: 1, tls: trusted });
    const ours = gateway(leader, trusted);
    expect(await call(ours.partitions, anInvoke()).outcome).toMatch(/^done /);
    for (const tls of [untrusted, undefined]) {
      const theirs = gateway(leader, tls);
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(theirs.directory.partitionCount).toBe(0);
    }
  });
});
