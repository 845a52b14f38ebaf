/** A test world for the invoker: fakes of its partition, the registry and endpoints, all driven by hand. */
import { silentLogger, utf8 } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import { type FakeStream, FakeTransport } from "@perdure/endpoint-transport/testing";
import { decodeStart, isFault, messageTypeName, type StartMessage } from "@perdure/service-protocol";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { createInvoker, type InterruptibleInvoker, type InvokerDeps, type InvokerOptions } from "../index.js";
import { aRegistry, aTarget, someFacts, type TestDeployment } from "./builders.js";
import { type FakeInvocation, FakePartition } from "./fake-partition.js";

export const policy = {
  initialIntervalMs: 1_000,
  factor: 2,
  maxIntervalMs: 60_000,
  maxAttempts: 4,
  onMaxAttempts: "pause",
} as const;
export const handler = { retryPolicy: policy };
export const object = aTarget({
  service: "Obj",
  key: "k",
  handler: "add",
  serviceType: "virtualObject",
  handlerType: "exclusive",
});

export class World {
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

export function startOf(stream: FakeStream): StartMessage {
  const start = decodeStart(stream.frames[0]!.body);
  if (isFault(start)) throw new Error(start.detail);
  return start;
}
export function names(stream: FakeStream): string[] {
  return stream.frames.map(({ type }) => messageTypeName(type));
}
/** Each failure as `<code> <what then>`. */
export function failuresOf({ failures }: FakeInvocation): string[] {
  return failures.map((failure) => `${failure.error.errorCode} ${failure.then}`);
}
export const sleep = { kind: "sleep", wakeUpTimeMs: Number.MAX_SAFE_INTEGER, resultCompletionId: 1, name: "" } as const;
export const waitForSleep = {
  kind: "suspension",
  awaitingOn: { completions: [1], signalIndexes: [1], signalNames: [], nested: [], combinator: "unknown" },
} as const;
