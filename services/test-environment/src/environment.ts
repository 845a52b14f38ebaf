/** The environment of a test: the engine and the handlers in this process. */

import type { RequestListener } from "@perdure/admin-api";
import {
  type InvocationId,
  type Logger,
  type PerdureError,
  parseInvocationId,
  systemClock,
  workflowInvocationId,
} from "@perdure/base";
import { connect, type Ingress } from "@restatedev/restate-sdk-clients";
import { type Engine, startEngine } from "./engine/engine.js";
import { EngineLog } from "./engine/engine-log.js";
import { type HandlerLog, type SdkEndpoint, type ServiceDefinitions, serveHandlers } from "./engine/sdk-endpoint.js";
import { unfinishedOf } from "./engine/unfinished.js";
import { nextWakeUpMs } from "./engine/wake-ups.js";
import { type ExploreOptions, explore } from "./explore/explore.js";
import type { ExploreReport } from "./explore/report.js";
import type { Scenario } from "./explore/run-once.js";
import { type CrashOptions, type FailOptions, type Fault, Faults, type SlowOptions } from "./faults/faults.js";
import { type Journal, journalOf } from "./journal/journal.js";
import { EngineActivity } from "./time/activity.js";
import { durationMs, type TestDuration } from "./time/duration.js";
import { followRequests } from "./time/requests-on-the-way.js";
import { TestClock } from "./time/test-clock.js";
import { TimeMover } from "./time/time-mover.js";

export type SkipTime = "auto" | "manual" | false;

export interface TestEnvironmentOptions {
  /** Definitions of the published SDK, which are served in this process. */
  readonly services?: ServiceDefinitions | undefined;
  /**
   * auto (the default): time jumps to the next sleep, delayed start or retry whenever nothing is in flight, and else passes as usual ·
   * manual: time stands still until `advance` · false: real time only.
   */
  readonly skipTime?: SkipTime | undefined;
  /** Handlers suspend at every await and are replayed, which finds code that is not deterministic. */
  readonly alwaysReplay?: boolean | undefined;
  /** Time at which the environment's clock begins; the machine's time by default. */
  readonly startAt?: Date | undefined;
  /** Destination of errors and logs of handlers; `console` by default. */
  readonly log?: HandlerLog | undefined;
}

/** An invocation: its id, what `send` or `workflowSubmit` returned, or a workflow client of `env.client()`. */
export type InvocationHandle = string | { readonly invocationId: string } | object;

/** What the test server adds. @internal */
export interface InternalOptions extends TestEnvironmentOptions {
  readonly extendAdmin?: ((environment: () => TestEnvironment, managementApi: RequestListener) => RequestListener) | undefined;
}

export class TestEnvironment implements AsyncDisposable {
  /** Address of the ingress, for any client. */
  readonly ingressUrl: string;
  /** Address of the management API. */
  readonly adminUrl: string;
  /** For `explore`. @internal */
  readonly faults: Faults;
  readonly #engine: Engine;
  readonly #clock: TestClock;
  readonly #mover: TimeMover;
  readonly #log: EngineLog;
  readonly #stack: AsyncDisposableStack;
  readonly #options: TestEnvironmentOptions;
  /** Ids of workflows by the client that `client()` returned. */
  readonly #handles = new WeakMap<object, InvocationId>();

  private constructor(parts: {
    readonly engine: Engine;
    readonly clock: TestClock;
    readonly mover: TimeMover;
    readonly faults: Faults;
    readonly log: EngineLog;
    readonly stack: AsyncDisposableStack;
    readonly options: TestEnvironmentOptions;
  }) {
    this.#engine = parts.engine;
    this.#clock = parts.clock;
    this.#mover = parts.mover;
    this.faults = parts.faults;
    this.#log = parts.log;
    this.#stack = parts.stack;
    this.#options = parts.options;
    this.ingressUrl = `http://127.0.0.1:${parts.engine.ingressPort}`;
    this.adminUrl = `http://127.0.0.1:${parts.engine.adminPort}`;
  }

  /** Starts the engine, serves the handlers and registers them. Rejects when a service cannot be registered. */
  static start(options: TestEnvironmentOptions = {}): Promise<TestEnvironment> {
    return TestEnvironment.startExtended(options);
  }

  /** `start` with what the test server adds. @internal */
  static async startExtended(options: InternalOptions): Promise<TestEnvironment> {
    await using stack = new AsyncDisposableStack();
    const { skipTime = "auto", alwaysReplay = false, services = [], log = logToConsole } = options;
    const activity = new EngineActivity();
    const clock = new TestClock(options.startAt?.getTime() ?? systemClock.nowMs(), skipTime !== "manual");
    const faults = new Faults(clock);
    const engineLog = new EngineLog();
    const onFatal = (error: PerdureError): void => log({ level: "error", parts: [error] });
    let ingressOrigin: string | undefined;
    const requests = stack.use(followRequests(activity, () => ingressOrigin));
    let environment: TestEnvironment | undefined;
    const started = (): TestEnvironment => {
      if (environment === undefined) throw new Error("the environment has not started yet");
      return environment;
    };
    const engine = stack.use(
      await startEngine({
        clock,
        activity,
        logger: engineLog satisfies Logger,
        observer: faults,
        ingressGuard: requests.guard,
        extendAdmin: (managementApi) => options.extendAdmin?.(started, managementApi) ?? managementApi,
        alwaysReplay,
        onFatal,
      }),
    );
    ingressOrigin = `http://127.0.0.1:${engine.ingressPort}`;
    if (services.length > 0) await register(engine, stack.use(await serveHandlers(services, log)));
    const mover = new TimeMover(clock, activity, inFlightOf(engine, faults));
    stack.defer(() => {
      mover.stop();
      clock.stop();
    });
    if (skipTime === "auto") void mover.jumpByItself();
    environment = new TestEnvironment({ engine, clock, mover, faults, log: engineLog, stack: stack.move(), options });
    return environment;
  }

  /** A client of the published SDK for this environment. Its workflow clients are handles for `journal`. */
  client(): Ingress {
    const ingress = connect({ url: this.ingressUrl });
    const workflowClient = ingress.workflowClient.bind(ingress);
    const remembered: Ingress["workflowClient"] = (definition, key) => {
      const workflow = workflowClient(definition, key);
      this.#handles.set(workflow, workflowInvocationId(definition.name, key));
      return workflow;
    };
    return Object.assign(ingress, { workflowClient: remembered });
  }

  /** Time of the environment's clock. */
  now(): Date {
    return new Date(this.#clock.nowMs());
  }

  /** Moves time forward, and resolves when all that became due on the way has run. Rejects when a handler works for more than 30 s. */
  advance(by: TestDuration): Promise<void> {
    return this.#mover.moveTo(this.#clock.nowMs() + durationMs(by));
  }

  /** Moves time to a moment. Rejects with RangeError when that moment has passed. */
  async advanceTo(to: Date): Promise<void> {
    if (Number.isNaN(to.getTime())) throw new RangeError("advanceTo needs a valid date");
    if (to.getTime() < this.#clock.nowMs()) throw new RangeError(`time does not go back: it is ${this.now().toISOString()}`);
    await this.#mover.moveTo(to.getTime());
  }

  /** Resolves when nothing is in flight: all invocations have completed, or wait for time, a signal or a promise. */
  idle(): Promise<void> {
    return this.#mover.untilQuiet();
  }

  /** The steps of an invocation, once nothing is in flight. Rejects when it is not stored (any more). */
  async journal(handle: InvocationHandle): Promise<Journal> {
    const id = this.#idOf(handle);
    await this.idle();
    const journal = await journalOf(this.#engine.store, id);
    if (journal === undefined)
      throw new Error(`No invocation ${id} is stored: it was never submitted, or its retention is over.`);
    return journal;
  }

  /** Invocations that have not completed. */
  unfinished(): Promise<readonly Journal[]> {
    return unfinishedOf(this.#engine.store);
  }

  /** Breaks the connection of an attempt when it reaches the step; the attempt is retried. */
  crashAt(options: CrashOptions): Fault {
    return this.faults.crashAt(options);
  }

  /** Fails the step when it has executed: with an error that is retried, or with a terminal one. */
  failStep(options: FailOptions): Fault {
    return this.faults.failStep(options);
  }

  /** Delays the result of the step by time of the environment's clock. */
  slowStep(options: SlowOptions): Fault {
    return this.faults.slowStep(options);
  }

  /** Breaks the connections of the attempts that run now, of one service or of all; returns their number. */
  dropConnection({ service }: { readonly service?: string } = {}): number {
    const prefix = service === undefined ? "/invoke/" : `/invoke/${encodeURIComponent(service)}/`;
    return this.#engine.transport.breakAll((path) => path.startsWith(prefix));
  }

  /**
   * Runs `scenario` once for every point at which a crash can happen, each time in a new environment like this one, which it receives. Time
   * jumps by itself there.
   */
  explore(scenario: Scenario, options: ExploreOptions = {}): Promise<ExploreReport> {
    return explore((log) => TestEnvironment.start({ ...this.#options, log, skipTime: "auto" }), scenario, options);
  }

  /** Lines of the engine's log since the start: why attempts failed, and the like. */
  get engineLog(): readonly string[] {
    return this.#log.lines;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }

  #idOf(handle: InvocationHandle): InvocationId {
    const text = typeof handle === "string" ? handle : (this.#handles.get(handle) ?? idIn(handle));
    const parsed = parseInvocationId(text);
    if (!parsed.ok) throw new TypeError(`'${text}' is not an invocation id`);
    return parsed.value;
  }
}

function idIn(handle: object): string {
  if ("invocationId" in handle && typeof handle.invocationId === "string") return handle.invocationId;
  throw new TypeError("journal needs an invocation id, the answer of a send, or a workflow client of env.client()");
}

async function register({ registry }: Engine, endpoint: SdkEndpoint): Promise<void> {
  const address = { kind: "http", uri: endpoint.url, useHttp11: false } as const;
  const none = { additionalHeaders: {}, metadata: {}, force: false, breaking: false, dryRun: false, acceptUnchanged: true };
  await registry.register({ address, ...none }, AbortSignal.timeout(REGISTRATION_MS));
}

const REGISTRATION_MS = 10_000;

function inFlightOf({ worker, store, transport }: Engine, faults: Faults) {
  return {
    get openStreams() {
      return transport.working;
    },
    attempts: () => worker.attempts(),
    async nextWakeUpMs() {
      const times = [await nextWakeUpMs(store, worker), faults.nextMs].filter((one) => one !== undefined);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    describe: () => transport.openPaths(),
  };
}

function logToConsole({ level, parts }: Parameters<HandlerLog>[0]): void {
  console[level](...parts);
}
