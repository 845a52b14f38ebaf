/**
 * Whatever happens in any order (slow storage, signals, failures, suspensions, pauses, retries by hand), each stream sends the journal to
 * its handler exactly once and in order, and the invocation completes.
 */
import { describe, expect, test } from "@jest/globals";
import { silentLogger, toHex, utf8 } from "@perdure/base";
import { type FakeStream, FakeTransport } from "@perdure/endpoint-transport/testing";
import { decodeStart, encodeFrame, isFault, isNotification, MessageType, resultCompletionIdOf } from "@perdure/service-protocol";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { createInvoker } from "../src/index.js";
import { aRegistry, aTarget, type FakeInvocation, FakePartition, someFacts } from "../src/testing/index.js";

const retryPolicy = {
  initialIntervalMs: 50,
  factor: 2,
  maxIntervalMs: 400,
  maxAttempts: undefined,
  onMaxAttempts: "pause",
} as const;

class Chaos {
  readonly random: SeededRandom;
  readonly clock = new VirtualClock();
  readonly transport = new FakeTransport();
  /** Batches, reads and settlements in progress. */
  readonly pending: (() => void)[] = [];
  readonly partition: FakePartition;
  readonly invocations: FakeInvocation[] = [];
  /** Streams whose response is not closed. */
  readonly live = new Map<FakeStream, { said: number; isFinished: boolean }>();
  /** Which stream made the run of a completion id, by position. */
  readonly madeBy = new Map<number, number>();
  nextCompletion = 1;
  nextSignal = 17;

  constructor(seed: number) {
    const random = new SeededRandom(seed);
    this.random = random;
    // Batches keep their order: there is one log. Reads overtake each other as they like.
    const batches: (() => void)[] = [];
    this.partition = new FakePartition({
      clock: this.clock,
      later: (batch) => {
        batches.push(batch);
        this.pending.push(() => batches.shift()?.());
      },
    });
    const read = this.partition.readJournal;
    this.partition.readJournal = (id, length) =>
      new Promise((resolve) => this.pending.push(() => void read(id, length).then(resolve)));
    const registry = aRegistry({
      protocolType: random.chance(0.3) ? "requestResponse" : "bidiStream",
      services: { Svc: { handlers: { run: { retryPolicy, inactivityTimeoutMs: 300, abortTimeoutMs: 2_000 } } } },
    });
    this.transport.onOpen = (stream) => {
      stream.writable = random.chance(0.7);
      this.live.set(stream, { said: 0, isFinished: false });
    };
    const invoker = createInvoker(
      {
        host: this.partition,
        registry,
        transports: { http: this.transport },
        clock: this.clock,
        random: random.fork(),
        logger: silentLogger,
      },
      { concurrentInvocationsMax: 2, protocolVersionMax: random.chance(0.5) ? 7 : 6 },
    );
    this.partition.attach(invoker);
  }

  invocationOf(stream: FakeStream): FakeInvocation {
    return this.invocations.find(({ facts }) => facts.id === stream.request.headers["x-restate-invocation-id"])!;
  }

  async step(ending: boolean): Promise<void> {
    const { random } = this;
    const unfinished = this.invocations.filter(({ status }) => status !== "completed");
    switch (random.below(ending ? 5 : 9)) {
      case 0:
      case 1:
        this.pending.splice(random.below(this.pending.length || 1), 1)[0]?.();
        break;
      case 2:
        this.clock.advanceBy(random.below(200));
        break;
      case 3:
      case 4:
        if (this.live.size > 0) this.endpointActs(random.pick([...this.live.keys()]), ending);
        break;
      case 5:
        if (this.invocations.length < 4)
          this.invocations.push(this.partition.invoke(someFacts({ target: aTarget() }, random), utf8("in")));
        break;
      case 6:
        if (unfinished.length > 0) {
          const { facts } = random.pick(unfinished);
          this.partition.signal(facts.id, { kind: "signalIndex", index: this.nextSignal++ }, { kind: "void" });
        }
        break;
      case 7:
        if (unfinished.length > 0) this.partition.retryNow(random.pick(unfinished).facts.id);
        break;
      default:
        if (unfinished.length > 0 && random.chance(0.2)) this.partition.pause(random.pick(unfinished).facts.id);
    }
    for (let i = 0; i < 5; i++) await Promise.resolve();
    for (const stream of this.live.keys()) if (stream.aborted) this.live.delete(stream);
    for (const invocation of unfinished) this.wake(invocation);
  }

  /** Actions of operators on paused invocations, and of time on suspended ones. */
  wake(invocation: FakeInvocation): void {
    if (invocation.status === "paused") {
      invocation.pauseRequested = false;
      this.partition.start(invocation);
    }
    if (invocation.status === "suspended" && this.random.chance(0.1)) {
      this.partition.signal(invocation.facts.id, { kind: "signalIndex", index: 1 }, { kind: "void" });
    }
  }

  endpointActs(stream: FakeStream, ending: boolean): void {
    const { random } = this;
    const talk = this.live.get(stream)!;
    if (!stream.writable && random.chance(0.5)) {
      stream.writable = true;
      stream.listener.drain();
      return;
    }
    if (stream.aborted) return;
    if (talk.isFinished) {
      if (random.chance(0.5)) {
        this.live.delete(stream);
        stream.close();
      }
      return;
    }
    if (talk.said++ === 0) stream.respond();
    const last = () => {
      talk.isFinished = true;
    };
    switch (random.below(ending ? 2 : 6)) {
      case 0:
      case 1:
        if (!ending && random.chance(0.7)) return;
        stream.finish(String(this.invocationOf(stream).entries.length));
        return last();
      case 2: {
        const resultCompletionId = this.nextCompletion++;
        this.madeBy.set(resultCompletionId, this.transport.streams.indexOf(stream));
        stream.command({ kind: "run", resultCompletionId, name: "" });
        if (random.chance(0.7)) {
          stream.control(
            { kind: "proposeRunCompletion", resultCompletionId, result: { kind: "value", value: utf8("r") } },
            random.chance(0.5) ? 0x8000 : 0,
          );
        }
        return;
      }
      case 3: {
        // Waits for the cancel signal and a signal that may or may not have arrived.
        const signalIndexes = [1, 17 + random.below(this.nextSignal - 16)];
        stream.control({
          kind: "suspension",
          awaitingOn: { completions: [], signalIndexes, signalNames: [], nested: [], combinator: "firstCompleted" },
        });
        return last();
      }
      case 4:
        stream.fails("chaos", random.chance(0.3) ? { nextRetryDelayMs: random.below(100) } : {});
        return last();
      default:
        this.live.delete(stream);
        stream.breakOff({ kind: "reset", message: "chaos" });
    }
  }

  /** Each stream: Start, the journal as it was, then the notifications stored after it. */
  check(stream: FakeStream): void {
    const { entries } = this.invocationOf(stream);
    const [first, ...sent] = stream.frames;
    if (first === undefined) return;
    const start = decodeStart(first.body);
    if (isFault(start)) throw new Error(start.detail);
    const text = ({ type, body }: { type: number; body: Uint8Array }) => toHex(encodeFrame(type, body));
    const replayed = sent.slice(0, start.knownEntries).map(text);
    expect(replayed).toEqual(entries.slice(0, replayed.length).map(text));
    // No command of an earlier attempt is appended behind the replay, where its handler would not expect it.
    const position = this.transport.streams.indexOf(stream);
    for (const { type, body } of entries.slice(start.knownEntries)) {
      if (type === MessageType.Run)
        expect(this.madeBy.get(resultCompletionIdOf(type, body) ?? 0)).toBeGreaterThanOrEqual(position);
    }
    const live = sent
      .slice(start.knownEntries)
      .filter(({ type }) => isNotification(type))
      .map(text);
    const acked = sent.slice(start.knownEntries).filter(({ type }) => type === MessageType.ProposeRunCompletionAck).length;
    const notifications = entries.slice(start.knownEntries).filter(({ type }) => isNotification(type));
    if (acked === 0) expect(live).toEqual(notifications.slice(0, live.length).map(text));
    else {
      // Acks stand for run completions; everything else keeps its place.
      const others = notifications.filter(({ type }) => type !== MessageType.RunCompletion).map(text);
      const liveOthers = sent
        .slice(start.knownEntries)
        .filter(({ type }) => isNotification(type) && type !== MessageType.RunCompletion)
        .map(text);
      expect(liveOthers).toEqual(others.slice(0, liveOthers.length));
    }
  }
}

describe("interleavings", () => {
  test.each(Array.from({ length: 150 }, (_, i) => i + 1))("seed %i", async (seed) => {
    const chaos = new Chaos(seed);
    for (let i = 0; i < 300; i++) await chaos.step(false);
    for (let i = 0; chaos.invocations.some(({ status }) => status !== "completed") || chaos.live.size > 0; i++) {
      if (i > 5_000) throw new Error(`no end: ${chaos.invocations.map(({ status }) => status)}`);
      await chaos.step(true);
    }
    expect(chaos.invocations.length).toBeGreaterThan(0);
    for (const stream of chaos.transport.streams) chaos.check(stream);
    // Everything the handlers' last attempt made is in the journal: nothing was accepted from an older run.
    for (const { commands, result } of chaos.invocations) {
      expect(commands.filter(({ kind }) => kind === "end").length).toBeGreaterThan(0);
      expect(result?.kind).toBe("value");
    }
  });
});
