import { describe, expect, test } from "@jest/globals";
import {
  invocationIdFromRaw,
  ProtoReader,
  randomSeedOf,
  silentLogger,
  systemClock,
  systemRandom,
  toBinaryString,
  toHex,
} from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import {
  decodeCommand,
  decodeControl,
  decodeStart,
  encodeCompletion,
  encodeFrame,
  isCommand,
  isFault,
  isNotification,
  MessageType,
  messageTypeName,
} from "@perdure/service-protocol";
import type { AttemptCommand, EntryStored, HandlerType, JournalEntry, ServiceType } from "@perdure/state-machine";
import { SeededRandom } from "@perdure/testkit";
import { AttemptMachine } from "../src/attempt-machine.js";
import type { AttemptEnding, AttemptOutput } from "../src/attempt-plan.js";
import { aRegistry, someFacts } from "../src/testing/index.js";
import { type RecordedAttempt, type RecordedFrame, recordedAttempts } from "./recorded.js";

const attempts = recordedAttempts();

/** Types of the recorded services, by their names. */
function typeOf(service: string): ServiceType {
  if (/^(Lazy)?Wf/.test(service)) return "workflow";
  return /^(Lazy)?Obj/.test(service) ? "virtualObject" : "service";
}
const shared = new Set(["peek", "getShared", "getP", "peekP", "resolveP", "rejectP", "status"]);
function handlerTypeOf(service: string, handler: string): HandlerType {
  if (typeOf(service) === "service" || shared.has(handler)) return "shared";
  return typeOf(service) === "workflow" ? "workflow" : "exclusive";
}

/** Everything that was ever called, except what the recordings call on purpose although it does not exist. */
const registry: RegistryView = (() => {
  const services: Record<string, { type: ServiceType; handlers: Record<string, { handlerType: HandlerType }> }> = {};
  const add = (service: string, handler: string) => {
    if (service === "NotThere") return;
    services[service] ??= { type: typeOf(service), handlers: {} };
    services[service].handlers[handler] = { handlerType: handlerTypeOf(service, handler) };
  };
  for (const { path, frames } of attempts) {
    const [, , service = "", handler = ""] = path.split("/");
    add(service, handler);
    for (const frame of frames) {
      if (!isCommand(frame.type)) continue;
      const command = decodeCommand(frame.type, frame.body);
      if (!isFault(command) && (command.kind === "call" || command.kind === "oneWayCall"))
        add(command.serviceName, command.handlerName);
    }
  }
  return aRegistry({ services });
})();

/** Plays one recorded attempt: what the server sent live becomes stored entries, what the endpoint sent arrives in random pieces. */
class Playback implements AttemptOutput {
  readonly written: Uint8Array[] = [];
  readonly submitted: AttemptCommand[] = [];
  halfClosed = false;
  ending: AttemptEnding | undefined;
  readonly isSubmitting = false;
  readonly #machine: AttemptMachine;
  readonly #random: SeededRandom;

  constructor(attempt: RecordedAttempt, seed: number) {
    this.#random = new SeededRandom(seed);
    const fromServer = attempt.frames.filter((frame) => frame.from === "server");
    const start = decodeStart(fromServer[0]!.body);
    if (isFault(start)) throw new Error("the recording begins with Start");
    const entries: JournalEntry[] = fromServer
      .slice(1, 1 + start.knownEntries)
      .map(({ type, body }) => ({ type, body, appendedAtMs: 0 }));
    const [, , service = "", handler = ""] = attempt.path.split("/");
    const id = invocationIdFromRaw(start.id);
    const serviceType = typeOf(service);
    this.#machine = new AttemptMachine(
      {
        facts: someFacts({
          id,
          target: {
            service,
            handler,
            key: serviceType === "service" ? undefined : start.key,
            serviceType,
            handlerType: handlerTypeOf(service, handler),
            scope: undefined,
          },
          randomSeed: start.randomSeed === randomSeedOf(id) ? undefined : start.randomSeed,
        }),
        run: 1,
        version: attempt.version,
        mode: attempt.mode,
        entries,
        state: start.partialState ? undefined : new Map(start.state.map(({ key, value }) => [toBinaryString(key), value])),
        retryCountSinceLastStoredEntry: start.retryCountSinceLastStoredEntry,
        durationSinceLastStoredEntryMs: start.durationSinceLastStoredEntryMs,
        eagerStateBytesMax: 1 << 20,
        messageBytesMax: 1 << 20,
        journalEntriesMax: 100_000,
        journalBytesMax: 1024 * 1024 * 1024,
      },
      this,
      { registry, clock: systemClock, random: systemRandom, scopesEnabled: true, logger: silentLogger },
    );
    this.#machine.begin();
    this.#play(attempt, 1 + start.knownEntries);
  }

  #play(attempt: RecordedAttempt, replayed: number): void {
    let toEndpoint = 0;
    let arriving: Uint8Array[] = [];
    const deliver = () => {
      this.#receive(Buffer.concat(arriving));
      arriving = [];
    };
    attempt.frames.forEach((frame, index) => {
      if (frame.from === "endpoint") arriving.push(encodeFrame(frame.type, frame.body, frame.flags));
      else if (++toEndpoint > replayed) {
        deliver();
        this.#machine.entryStored(effectBehind(frame));
      }
      if (index + 1 === attempt.responseEndedAfter) {
        deliver();
        this.#machine.responseEnded();
      }
    });
    deliver();
  }

  #receive(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      const size = this.#random.chance(0.3) ? bytes.length : 1 + this.#random.below(12);
      this.#machine.received(bytes.subarray(at, at + size));
      this.#machine.work(Number.POSITIVE_INFINITY);
      at += size;
    }
  }

  write(bytes: Uint8Array): boolean {
    this.written.push(bytes);
    return true;
  }
  halfClose(): void {
    this.halfClosed = true;
  }
  submit(command: AttemptCommand): void {
    this.submitted.push(command);
  }
  over(ending: AttemptEnding): void {
    expect(this.ending).toBeUndefined();
    this.ending = ending;
  }
  requestFlush(): void {
    this.#machine.flush();
  }
}

/** The effect that sends this frame. */
function effectBehind({ type, body }: RecordedFrame): EntryStored {
  const id = someFacts().id;
  const base = { kind: "entryStored", id, run: 1, index: 0 } as const;
  const acked = () => {
    const reader = new ProtoReader(body);
    reader.tag();
    return reader.uint32();
  };
  if (type === MessageType.CommandAck) {
    return {
      ...base,
      entry: { type: MessageType.Sleep, body: new Uint8Array(), appendedAtMs: 0 },
      delivery: { kind: "ackCommand", commandIndex: acked() },
    };
  }
  if (type === MessageType.ProposeRunCompletionAck) {
    const completionId = acked();
    const stored = encodeCompletion(completionId, { kind: "value", value: new Uint8Array() });
    return {
      ...base,
      entry: { type: MessageType.RunCompletion, body: stored, appendedAtMs: 0 },
      delivery: { kind: "ackRun", completionId },
    };
  }
  return { ...base, entry: { type, body, appendedAtMs: 0 }, delivery: { kind: "push", thenAck: undefined } };
}

/** As text, for readable differences. */
function summary(type: number, body: Uint8Array): string {
  return `${messageTypeName(type)} ${toHex(body)}`;
}

function expectedSubmissions(frames: readonly RecordedFrame[]): string[] {
  return frames.flatMap(({ from, type, body }) => {
    if (from === "server") return [];
    if (isCommand(type)) return [summary(type, body)];
    if (type === MessageType.End || type === MessageType.Suspension || type === MessageType.ProposeRunCompletion)
      return [messageTypeName(type)];
    return [];
  });
}

function actualSubmissions(submitted: readonly AttemptCommand[]): string[] {
  return submitted.map((command) => {
    switch (command.kind) {
      case "appendCommand":
        return summary(command.type, command.body);
      case "end":
        return "End";
      case "suspend":
        return "Suspension";
      case "proposeRun":
        return "ProposeRunCompletion";
      default:
        return command.kind;
    }
  });
}

interface PlayedOutcome {
  readonly name: string;
  readonly sent: string;
  readonly submitted: readonly string[];
  readonly ending: string | undefined;
  readonly halfClosed: boolean;
}

function outcomeOf(attempt: RecordedAttempt, seed: number): PlayedOutcome {
  const { written, submitted, ending, halfClosed } = new Playback(attempt, seed);
  return {
    name: `${attempt.scenario} #${attempt.index} ${attempt.path}`,
    sent: toHex(Buffer.concat(written)),
    submitted: actualSubmissions(submitted),
    ending: ending?.kind === "failed" ? `failed ${ending.failure.error.errorCode} ${ending.failure.error.code}` : ending?.kind,
    halfClosed,
  };
}

function recordedOutcome({ scenario, index, path, frames, mode, responseEndedAfter }: RecordedAttempt): PlayedOutcome {
  const fromServer = frames.filter(({ from }) => from === "server");
  const ending = recordedEnding(frames, responseEndedAfter);
  return {
    name: `${scenario} #${index} ${path}`,
    sent: toHex(Buffer.concat(fromServer.map(({ type, body, flags }) => encodeFrame(type, body, flags)))),
    submitted: expectedSubmissions(frames),
    ending,
    halfClosed: mode === "requestResponse" || ending !== undefined,
  };
}

function recordedEnding(frames: readonly RecordedFrame[], responseEndedAfter: number): string | undefined {
  const last = frames.findLast(({ from }) => from === "endpoint");
  if (last?.type === MessageType.End) return "ended";
  if (last?.type === MessageType.Suspension) return "suspended";
  if (last?.type === MessageType.Error) {
    const error = decodeControl(MessageType.Error, last.body, 7);
    if (isFault(error) || error.kind !== "error") throw new Error("the recording holds an Error");
    const errorCode = error.code === 570 ? "RT0016" : error.code === 571 ? "RT0012" : "RT0007";
    return `failed ${errorCode} ${error.code}`;
  }
  return responseEndedAfter >= 0 ? "failed RT0007 500" : undefined;
}

const whole = attempts.filter((attempt) => attempt.accepted && !attempt.path.includes("unknownCallee"));

describe("recorded exchanges", () => {
  test("there are many of them, of every version and mode", () => {
    expect(whole.length).toBeGreaterThan(350);
    expect(new Set(whole.map(({ version, mode }) => `${version} ${mode}`))).toEqual(
      new Set(["5 bidi", "6 bidi", "7 bidi", "6 requestResponse", "7 requestResponse"]),
    );
  });

  test.each([
    ["5 bidi", 30],
    ["6 bidi", 40],
    ["7 bidi", 200],
    ["6 requestResponse", 10],
    ["7 requestResponse", 10],
  ] as const)("protocol %s: same bytes to the SDK, same commands to the partition, whatever the chunks", (kind, atLeast) => {
    const chosen = whole.filter(({ version, mode }) => `${version} ${mode}` === kind);
    expect(chosen.length).toBeGreaterThan(atLeast);
    for (const attempt of chosen) {
      for (let seed = 1; seed <= 3; seed++) expect(outcomeOf(attempt, seed)).toEqual(recordedOutcome(attempt));
    }
  });

  test("a suspension considers every notification of its attempt, including those that satisfy it already", () => {
    let met = 0;
    for (const attempt of whole) {
      const suspend = new Playback(attempt, 1).submitted.find((command) => command.kind === "suspend");
      if (suspend === undefined) continue;
      const delivered = attempt.frames.filter(
        ({ from, type }) => from === "server" && (isNotification(type) || type === MessageType.ProposeRunCompletionAck),
      );
      expect(suspend.receivedNotificationCount).toBe(delivered.length);
      if (suspend.satisfied) met++;
      // Suspensions of recorded handlers wait for something new: what was sent before is never awaited again.
      expect(suspend.awaiting).toBeDefined();
    }
    expect(met).toBe(0);
  });

  test("an unknown callee fails the attempt with RT0018, and the SDK's suspension after it counts for nothing", () => {
    const attempt = attempts.find(({ path }) => path.endsWith("/unknownCallee"))!;
    const played = new Playback(attempt, 1);
    expect(played.ending).toMatchObject({
      kind: "failed",
      failure: {
        error: {
          errorCode: "RT0018",
          message: "Call command at index 1 failed: service NotThere is not registered",
          relatedCommandIndex: 1,
        },
        resetStream: false,
      },
    });
    expect(played.submitted).toEqual([]);
    expect(played.halfClosed).toBe(true);
  });
});
