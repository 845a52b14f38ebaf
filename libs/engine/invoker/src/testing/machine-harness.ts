/** Drives an attempt machine with frames, and records what it does. */
import { expect } from "@jest/globals";
import { EMPTY_BYTES, silentLogger, systemRandom, utf8 } from "@perdure/base";
import {
  commandTypeOf,
  encodeCommand,
  encodeCompletion,
  encodeControl,
  encodeFrame,
  encodeInput,
  type Frame,
  FrameDecoder,
  type Future,
  type JournalCommand,
  MessageType,
  messageTypeName,
  type ProtocolVersion,
  type SdkControlMessage,
} from "@perdure/service-protocol";
import type { AttemptCommand, EntryStored, JournalEntry } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import { AttemptMachine } from "../attempt-machine.js";
import type { AttemptEnding, AttemptOutput, AttemptPlan } from "../attempt-plan.js";
import { aRegistry, someFacts } from "./index.js";

const registry = aRegistry({ services: { Svc: { handlers: { run: {} } } } });
export const input: JournalEntry = { type: MessageType.Input, body: encodeInput([], EMPTY_BYTES), appendedAtMs: 0 };

export class Harness implements AttemptOutput {
  readonly machine: AttemptMachine;
  readonly version: ProtocolVersion;
  readonly submitted: AttemptCommand[] = [];
  readonly writes: Uint8Array[] = [];
  ending: AttemptEnding | undefined;
  readonly isSubmitting = false;
  halfClosed = false;
  writable = true;
  readonly #decoder = new FrameDecoder();

  constructor(plan: Partial<AttemptPlan> = {}) {
    this.version = plan.version ?? 6;
    this.machine = new AttemptMachine(
      {
        facts: someFacts(),
        run: 1,
        version: this.version,
        mode: "bidi",
        entries: [input],
        state: undefined,
        retryCountSinceLastStoredEntry: 0,
        durationSinceLastStoredEntryMs: 0,
        eagerStateBytesMax: 1024,
        messageBytesMax: 64 * 1024,
        journalEntriesMax: 100_000,
        journalBytesMax: 1024 * 1024 * 1024,
        ...plan,
      },
      this,
      { registry, clock: new VirtualClock(), random: systemRandom, scopesEnabled: true, logger: silentLogger },
    );
    this.machine.begin();
  }

  write(bytes: Uint8Array): boolean {
    this.writes.push(bytes);
    this.#decoder.push(bytes);
    return this.writable;
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
    this.machine.flush();
  }

  /** Frames that were written and not read yet. */
  frames(): Frame[] {
    const frames: Frame[] = [];
    for (let frame = this.#decoder.next(); frame !== undefined; frame = this.#decoder.next()) frames.push(frame);
    return frames;
  }
  frameNames(): string[] {
    return this.frames().map(({ type }) => messageTypeName(type));
  }
  command(command: JournalCommand, flags = 0): this {
    return this.raw(commandTypeOf[command.kind], encodeCommand(command), flags);
  }
  control(message: SdkControlMessage, flags = 0): this {
    const type = { suspension: 1, error: 2, end: 3, proposeRunCompletion: 5, awaitingOn: 6 }[message.kind];
    return this.raw(type, encodeControl(message, this.version), flags);
  }
  raw(type: number, body: Uint8Array = EMPTY_BYTES, flags = 0): this {
    this.machine.received(encodeFrame(type, body, flags));
    this.machine.work(Number.POSITIVE_INFINITY);
    return this;
  }
  stored(
    entry: { type: number; body: Uint8Array },
    delivery: EntryStored["delivery"] = { kind: "push", thenAck: undefined },
  ): this {
    const stored = { ...entry, appendedAtMs: 0 };
    this.machine.entryStored({ kind: "entryStored", id: someFacts().id, run: 1, index: 1, entry: stored, delivery });
    return this;
  }
  get failureCode(): string | undefined {
    return this.ending?.kind === "failed" ? this.ending.failure.error.errorCode : undefined;
  }
}

export function run(resultCompletionId: number): JournalCommand {
  return { kind: "run", resultCompletionId, name: "step" };
}
export function entryOf(command: JournalCommand): JournalEntry {
  return { type: commandTypeOf[command.kind], body: encodeCommand(command), appendedAtMs: 0 };
}
export const output: JournalCommand = { kind: "output", result: { kind: "value", value: utf8("1") }, name: "" };

export function future(parts: Partial<Future>): Future {
  return { completions: [], signalIndexes: [], signalNames: [], nested: [], combinator: "unknown", ...parts };
}
export function sleepDone(id: number) {
  return { type: MessageType.SleepCompletion, body: encodeCompletion(id, { kind: "void" }) };
}
export function callFailed(id: number) {
  return {
    type: MessageType.CallCompletion,
    body: encodeCompletion(id, { kind: "failure", failure: { code: 500, message: "no", metadata: [] } }),
  };
}

export function error(more: Partial<Extract<SdkControlMessage, { kind: "error" }>>): SdkControlMessage {
  return {
    kind: "error",
    code: 500,
    message: "no",
    stacktrace: "",
    relatedCommandIndex: undefined,
    relatedCommandName: undefined,
    relatedCommandType: undefined,
    nextRetryDelayMs: undefined,
    behavior: "retry",
    ...more,
  };
}
