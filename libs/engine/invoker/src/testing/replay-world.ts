/** An endpoint with an SDK that replays a scripted handler, and journals that such a handler left. */
import { silentLogger, utf8 } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { RequestIdentity } from "@perdure/endpoint-transport";
import { type FakeStream, FakeTransport } from "@perdure/endpoint-transport/testing";
import {
  commandTypeOf,
  decodeCommand,
  encodeCommand,
  encodeCompletion,
  encodeInput,
  type Frame,
  isCommand,
  isFault,
  isNotification,
  type JournalCommand,
  MessageType,
  notificationIdOf,
} from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import type { ReplayResult } from "../check/evaluate.js";
import { createReplayCheck } from "../check/replay-check.js";
import type { ReplaySubject } from "../check/send-replay.js";
import { createStepReplay, type StepReplayResult } from "../check/step-replay.js";
import { aRegistry, someFacts, type TestDeployment, testDeploymentId } from "./index.js";

// ── journals ─────────────────────────────────────────────────────────────────────────────────────

export const entry = (type: number, body: Uint8Array): JournalEntry => ({ type, body, appendedAtMs: 0 });
const made = (command: JournalCommand) => entry(commandTypeOf[command.kind], encodeCommand(command));
export const input = entry(MessageType.Input, encodeInput([], utf8("in")));
const runCommand = (name: string, resultCompletionId: number): JournalCommand => ({ kind: "run", name, resultCompletionId });
export const sleepCommand = (name: string, resultCompletionId: number): JournalCommand => ({
  kind: "sleep",
  name,
  resultCompletionId,
  wakeUpTimeMs: 1,
});
const outputCommand = (value: string): JournalCommand => ({
  kind: "output",
  name: "",
  result: { kind: "value", value: utf8(value) },
});
export const run = (name: string, id: number) => made(runCommand(name, id));
export const ran = (id: number) => entry(MessageType.RunCompletion, encodeCompletion(id, { kind: "value", value: utf8("r") }));
export const sleep = (name: string, id: number) => made(sleepCommand(name, id));
export const slept = (id: number) => entry(MessageType.SleepCompletion, encodeCompletion(id, { kind: "void" }));
export const output = (value: string) => made(outputCommand(value));

// ── handlers ─────────────────────────────────────────────────────────────────────────────────────

/** Step of a handler. `await` waits for the result of the command with this id. */
type Step = { readonly do: JournalCommand } | { readonly await: number } | { readonly fail: string };
export const step = (name: string, id: number): Step[] => [{ do: runCommand(name, id) }, { await: id }];
export const rest = (name: string, id: number): Step[] => [{ do: sleepCommand(name, id) }, { await: id }];
export const returns = (value: string): Step => ({ do: outputCommand(value) });

interface Behaviour {
  readonly steps: readonly Step[];
  /** An endpoint like the shared core of the published SDKs (default), or one that reports only the code. */
  readonly reports?: "all" | "codeOnly";
}

/** An SDK as far as it matters: it compares what the handler does with the journal, and performs what the journal does not have. */
class Sdk {
  /** Names of the steps whose closures ran. */
  readonly performed: string[] = [];
  readonly #behaviour: Behaviour;

  constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour;
  }

  answer(stream: FakeStream): void {
    stream.respond();
    const [, ...entries] = stream.frames;
    const journal = entries.filter(({ type }) => isCommand(type));
    const completed = new Set(entries.flatMap((frame) => completionOf(frame)));
    let at = 1; // Index behind the Input.
    const mismatch = (message: string, command?: JournalCommand) =>
      this.#behaviour.reports === "codeOnly"
        ? stream.fails(message.startsWith("'await'") ? "no such luck" : message, { code: 570 })
        : stream.fails(message, {
            code: 570,
            stacktrace: "at handler",
            ...(command === undefined ? {} : relatedTo(command, at)),
          });
    for (const now of this.#behaviour.steps) {
      if ("fail" in now) return void stream.fails(now.fail);
      if ("await" in now) {
        if (completed.has(now.await)) continue;
        if (at < journal.length) return void mismatch("'await' could not be replayed");
        const open = this.#runOf(now.await);
        if (open === undefined) return void stream.control({ kind: "suspension", awaitingOn: awaiting(now.await) });
        this.performed.push(open);
        stream.control({
          kind: "proposeRunCompletion",
          resultCompletionId: now.await,
          result: { kind: "value", value: utf8("r") },
        });
        if (!stream.aborted) stream.control({ kind: "suspension", awaitingOn: awaiting(now.await) });
        return;
      }
      const stored = journal[at];
      if (stored === undefined) {
        if (stream.aborted) return;
        stream.command(now.do);
      } else if (!isSame(stored, now.do)) return void mismatch("the paths differ", now.do);
      at++;
    }
    stream.control({ kind: "end" });
    stream.close();
  }

  #runOf(id: number): string | undefined {
    for (const now of this.#behaviour.steps)
      if ("do" in now && now.do.kind === "run" && now.do.resultCompletionId === id) return now.do.name;
    return undefined;
  }
}

export const awaiting = (id: number) => ({
  completions: [id],
  signalIndexes: [],
  signalNames: [],
  nested: [],
  combinator: "unknown" as const,
});
const relatedTo = (command: JournalCommand, index: number) => ({
  relatedCommandIndex: index,
  relatedCommandName: command.name,
  relatedCommandType: commandTypeOf[command.kind],
});
const completionOf = ({ type, body }: Frame): number[] => {
  if (!isNotification(type)) return [];
  const id = notificationIdOf(type, body);
  return id.kind === "completion" ? [id.id] : [];
};
function isSame(stored: Frame, command: JournalCommand): boolean {
  const decoded = decodeCommand(stored.type, stored.body);
  if (isFault(decoded) || decoded.kind !== command.kind || decoded.name !== command.name) return false;
  return command.kind !== "output" || Buffer.from(stored.body).equals(encodeCommand(command));
}

// ── a check ──────────────────────────────────────────────────────────────────────────────────────

interface StepChoice extends Partial<Omit<ReplaySubject, "version">> {
  readonly commands?: number;
  readonly executesSteps?: boolean;
}

export class World {
  readonly clock = new VirtualClock();
  readonly transport = new FakeTransport();
  readonly candidate: DeploymentView;
  readonly #identity: RequestIdentity | undefined;

  constructor(deployment: Partial<TestDeployment> = {}, identity?: RequestIdentity) {
    const registry = aRegistry({ services: { Svc: { handlers: { run: {} } } }, ...deployment });
    this.candidate = registry.current().deployments.get(testDeploymentId)!;
    this.#identity = identity;
  }

  check(
    entries: readonly JournalEntry[],
    over: Partial<ReplaySubject> = {},
    signal = new AbortController().signal,
  ): Promise<ReplayResult> {
    const check = createReplayCheck(
      {
        transports: { http: this.transport },
        identity: this.#identity,
        clock: this.clock,
        logger: silentLogger,
      },
      { messageBytesMax: 1_000_000, eagerStateBytesMax: 1_000, additionalRequestHeaders: { "x-restate-cluster-name": "c" } },
    );
    const subject = {
      facts: someFacts(),
      version: 6 as const,
      isCompleted: false,
      state: undefined,
      lastStoredAtMs: 0,
      entries,
      ...over,
    };
    return check.check(this.candidate, subject, 1_000, signal);
  }

  /** Replays the first `commands` commands of a journal. */
  replayTo(
    entries: readonly JournalEntry[],
    { commands = Number.POSITIVE_INFINITY, executesSteps = false, ...over }: StepChoice = {},
  ): Promise<StepReplayResult> {
    const replays = createStepReplay(
      { transports: { http: this.transport }, identity: undefined, clock: this.clock },
      { messageBytesMax: 1_000_000, eagerStateBytesMax: 1_000, additionalRequestHeaders: {} },
    );
    const subject = {
      facts: someFacts(),
      version: 6 as const,
      isCompleted: false,
      state: undefined,
      lastStoredAtMs: 0,
      entries,
      ...over,
    };
    return replays.replay(this.candidate, subject, { commands, executesSteps }, new AbortController().signal);
  }

  /** Each stream is answered once the request is closed, and ends after the endpoint's final message. */
  play(behaviour: Behaviour): Sdk {
    const sdk = new Sdk(behaviour);
    this.transport.onOpen = (stream) => {
      const end = stream.end.bind(stream);
      stream.end = () => {
        if (stream.ended) return;
        end();
        queueMicrotask(() => {
          sdk.answer(stream);
          if (!stream.aborted) stream.close();
        });
      };
    };
    return sdk;
  }

  get frameTypes(): number[][] {
    return this.transport.streams.map((stream) => stream.frames.map(({ type }) => type));
  }
}

export async function resultOf(steps: readonly Step[], entries: readonly JournalEntry[], over: Partial<ReplaySubject> = {}) {
  const world = new World();
  const sdk = world.play({ steps });
  const result = await world.check(entries, over);
  return { result, performed: sdk.performed, requests: world.transport.streams.length };
}

export const twoSteps = [...step("a", 1), ...step("b", 2), returns("done")];
export const completedJournal = [input, run("a", 1), ran(1), run("b", 2), ran(2), output("done")];
