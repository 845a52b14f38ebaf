/**
 * Runs a fork in memory against its endpoint: nothing is stored, and no message leaves but the requests to the endpoint of the handler
 * itself (decision 0062). Each request carries the whole journal and is closed at once, so the handler stops as soon as it awaits what the
 * journal does not have; the results are added, and the next request continues from there. Every kind of endpoint can do that.
 */
import { type Clock, pause, type Random, siblingInvocationId } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { EndpointTransport, RequestIdentity } from "@perdure/endpoint-transport";
import {
  encodeCompletion,
  type Failure,
  type Future,
  MessageType,
  type ProtocolVersion,
  waitingNamedSignals,
  waitingSignals,
} from "@perdure/service-protocol";
import {
  type AttemptError,
  type ForkFacts,
  type InvocationFacts,
  type JournalEntry,
  randomSeedFor,
} from "@perdure/state-machine";
import { startBody } from "../attempt-plan.js";
import { type ReplayEnd, replay } from "../check/replay-stream.js";
import { type ReplayCheckOptions, replayPlanOf, replayRequestOf } from "../check/send-replay.js";
import { SANDBOX_ENTRIES_MAX, SANDBOX_JOURNAL_BYTES_MAX, SANDBOX_REQUESTS_MAX } from "./limits.js";
import { type SandboxStub, SandboxWorld, type UnsentMessage } from "./sandbox-world.js";

export interface SandboxDeps {
  readonly transports: { readonly http: EndpointTransport; readonly lambda?: EndpointTransport | undefined };
  readonly identity: RequestIdentity | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

export interface SandboxRequest {
  /** Facts of the source. */
  readonly facts: InvocationFacts;
  readonly fork: ForkFacts;
  readonly version: ProtocolVersion;
  /** The whole journal of the source. */
  readonly source: readonly JournalEntry[];
  /** The entries that the fork begins with. */
  readonly kept: readonly JournalEntry[];
  /** The state of the key now; empty for services. */
  readonly state: ReadonlyMap<string, Uint8Array>;
  /** Whether the handler gets the state with each request. */
  readonly sendsState: boolean;
  readonly stubs: readonly SandboxStub[];
  /** Whether sleeps last; otherwise they end at once. */
  readonly keepSleeps: boolean;
  readonly timeoutMs: number;
}

export type SandboxOutcome =
  | { readonly kind: "success"; readonly value: Uint8Array }
  | { readonly kind: "failure"; readonly failure: Failure }
  /** The attempt failed: with retries it would begin again. */
  | { readonly kind: "attemptFailed"; readonly error: AttemptError }
  /** There is no answer to what the handler requested; `what` names it. */
  | { readonly kind: "unanswered"; readonly what: string }
  | { readonly kind: "tooLong"; readonly what: string };

export interface SandboxResult {
  readonly outcome: SandboxOutcome;
  /** The journal of the fork. */
  readonly entries: readonly JournalEntry[];
  /** Messages that were not sent. */
  readonly unsent: readonly UnsentMessage[];
  readonly requestCount: number;
}

export interface Sandbox {
  /** Never rejects. */
  run(deployment: DeploymentView, request: SandboxRequest, signal: AbortSignal): Promise<SandboxResult>;
}

export function createSandbox(deps: SandboxDeps, options: ReplayCheckOptions): Sandbox {
  return { run: (deployment, request, signal) => new SandboxRun(deps, options, deployment, request, signal).run() };
}

class SandboxRun {
  readonly #deps: SandboxDeps;
  readonly #options: ReplayCheckOptions;
  readonly #deployment: DeploymentView;
  readonly #request: SandboxRequest;
  readonly #signal: AbortSignal;
  readonly #facts: InvocationFacts;
  readonly #world: SandboxWorld;
  readonly #entries: JournalEntry[];
  readonly #untilMs: number;
  #bytes = 0;
  #requestCount = 0;
  #outcome: SandboxOutcome | undefined;

  constructor(
    deps: SandboxDeps,
    options: ReplayCheckOptions,
    deployment: DeploymentView,
    request: SandboxRequest,
    signal: AbortSignal,
  ) {
    const { facts, fork, source, kept, state, stubs, keepSleeps } = request;
    this.#deps = deps;
    this.#options = options;
    this.#deployment = deployment;
    this.#request = request;
    this.#signal = signal;
    this.#facts = {
      ...facts,
      id: siblingInvocationId(facts.id, deps.clock.nowMs(), deps.random),
      source: { kind: "restart", from: facts.id },
      idempotencyKey: undefined,
      randomSeed: fork.atEntry > 0 ? randomSeedFor(facts) : undefined,
      fork,
      bytes: undefined,
    };
    this.#world = new SandboxWorld({ clock: deps.clock, random: deps.random, stubs, keepSleeps }, source, kept, state);
    this.#entries = [...kept];
    for (const { body } of kept) this.#bytes += body.length;
    this.#untilMs = deps.clock.monotonicMs() + request.timeoutMs;
  }

  async run(): Promise<SandboxResult> {
    while (this.#outcome === undefined) {
      if (this.#requestCount >= SANDBOX_REQUESTS_MAX) this.#outcome = tooLong(`${SANDBOX_REQUESTS_MAX} requests`);
      else await this.#turn();
    }
    const { unsent } = this.#world;
    return { outcome: this.#outcome, entries: this.#entries, unsent, requestCount: this.#requestCount };
  }

  /** One request, and what follows from its end. */
  async #turn(): Promise<void> {
    const before = this.#entries.length;
    const end = await this.#send();
    if (this.#outcome !== undefined) return;
    switch (end.kind) {
      case "ended":
        this.#outcome = { kind: "unanswered", what: "an end without a result" };
        return;
      case "suspended":
        if (this.#entries.length === before) await this.#wait(end.awaitingOn);
        return;
      case "mismatch":
      case "failed":
        this.#outcome = this.#isOver ? tooLong(`${this.#request.timeoutMs} ms`) : { kind: "attemptFailed", error: end.error };
        return;
      case "wentOn":
        return; // Only without a taker.
    }
  }

  #send(): Promise<ReplayEnd> {
    const { transports, clock } = this.#deps;
    const transport = this.#deployment.address.kind === "lambda" ? transports.lambda : transports.http;
    const unavailable = "this process is not set up to call AWS Lambda";
    if (transport === undefined) {
      this.#outcome = { kind: "unanswered", what: unavailable };
      return Promise.resolve({ kind: "ended" });
    }
    this.#requestCount++;
    const { version, sendsState } = this.#request;
    const subject = {
      facts: this.#facts,
      version,
      isCompleted: false,
      entries: this.#entries,
      state: sendsState ? this.#world.state : undefined,
      lastStoredAtMs: clock.nowMs(),
    };
    const entries = [...this.#entries];
    const plan = { ...replayPlanOf(subject, clock.nowMs(), this.#options), entries };
    const frames = [{ type: MessageType.Start, body: startBody(plan) }, ...entries];
    const request = replayRequestOf({ candidate: this.#deployment, subject, isMarked: true }, this.#deps, this.#options);
    const timeoutMs = Math.max(1, this.#untilMs - clock.monotonicMs());
    const bounds = { timeoutMs, messageBytesMax: this.#options.messageBytesMax };
    return replay({ transport, clock }, { request, version, frames, taker: this }, bounds, this.#signal);
  }

  get #isOver(): boolean {
    return this.#deps.clock.monotonicMs() >= this.#untilMs;
  }

  /** The handler awaits what the journal does not have, and has done nothing else. */
  async #wait(awaitingOn: Future): Promise<void> {
    const signals = [
      ...waitingSignals(awaitingOn).map((index) => ({ kind: "signalIndex", index }) as const),
      ...waitingNamedSignals(awaitingOn).map((name) => ({ kind: "signalName", name }) as const),
    ];
    for (const id of signals) {
      const entry = this.#world.signal(id);
      if (entry !== undefined) return this.#append(entry);
    }
    const wakeUpMs = this.#world.nextWakeUpMs;
    if (wakeUpMs !== undefined) return await this.#sleepUntil(wakeUpMs);
    const [first] = signals;
    const what =
      first === undefined
        ? "a result that does not arrive"
        : first.kind === "signalIndex"
          ? `awakeable or signal ${first.index}`
          : `signal ${first.name}`;
    this.#outcome = { kind: "unanswered", what };
  }

  async #sleepUntil(wakeUpMs: number): Promise<void> {
    const { clock } = this.#deps;
    const forMs = Math.max(0, wakeUpMs - clock.nowMs());
    if (clock.monotonicMs() + forMs > this.#untilMs) {
      this.#outcome = tooLong(`a sleep until ${new Date(wakeUpMs).toISOString()}`);
      return;
    }
    await pause(clock, forMs, this.#signal);
    if (this.#signal.aborted) this.#outcome = tooLong("the request: its client disconnected");
    for (const entry of this.#world.ended()) this.#append(entry);
  }

  #append(entry: JournalEntry): void {
    this.#entries.push(entry);
    this.#bytes += entry.body.length;
    if (this.#entries.length > SANDBOX_ENTRIES_MAX) this.#outcome ??= tooLong(`${SANDBOX_ENTRIES_MAX} entries`);
    if (this.#bytes > SANDBOX_JOURNAL_BYTES_MAX) this.#outcome ??= tooLong(`${SANDBOX_JOURNAL_BYTES_MAX} bytes of entries`);
  }

  // ── what the endpoint does ─────────────────────────────────────────────────────────────────────

  command(type: number, body: Uint8Array, command: Parameters<SandboxWorld["answer"]>[0]): void {
    if (this.#outcome !== undefined) return;
    this.#append({ type, body, appendedAtMs: this.#deps.clock.nowMs() });
    if (command.kind === "output") {
      const { result } = command;
      // A copy, because the bytes are a view into the frame.
      this.#outcome =
        result.kind === "value" ? { kind: "success", value: result.value.slice() } : { kind: "failure", failure: result.failure };
      return;
    }
    const answer = this.#world.answer(command);
    if ("gap" in answer) this.#outcome = { kind: "unanswered", what: answer.gap };
    else for (const completion of answer.completions) this.#append(completion);
  }

  proposal({
    resultCompletionId,
    result,
  }: {
    readonly resultCompletionId: number;
    readonly result: Parameters<typeof encodeCompletion>[1];
  }): void {
    const body = encodeCompletion(resultCompletionId, result);
    this.#append({ type: MessageType.RunCompletion, body, appendedAtMs: this.#deps.clock.nowMs() });
  }
}

function tooLong(what: string): SandboxOutcome {
  return { kind: "tooLong", what };
}
