import { beforeEach, describe, expect, test } from "@jest/globals";
import { type DeploymentId, type EventSubscriptionId, type InvocationId, type SubscriptionId, silentLogger } from "@perdure/base";
import type { FlowLimitRow } from "@perdure/flow-control";
import {
  createMemoryMetadataStore,
  type DeploymentRecord,
  type EventSubscriptionRecord,
  emptyMemoryMetadata,
  type LocatedRevision,
} from "@perdure/metadata";
import { decodeCommand, isFault, MessageType } from "@perdure/service-protocol";
import { ENVIRONMENT_EVENT_TYPES, type EventFilter, type EventType, type Invoke } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import { EnvironmentEvents } from "./checks.js";
import type { EnvironmentEventsPorts } from "./ports.js";

const NO_FILTER: EventFilter = { service: undefined, handler: undefined, scope: undefined };
const OLD = "dp_15ChR1PDwZt22Rn2lfZrRo5" as DeploymentId;
const NEW = "dp_15ChR1PDwZt22Rn2lfZrRo6" as DeploymentId;
const SUBSCRIPTION = "sub_15ChR1PDwZt22Rn2lfZrRo5" as SubscriptionId;
const OPTIONS = { checkIntervalMs: 10_000, stuckAfterMs: 60_000, saturatedAfterMs: 30_000 };

function subscriber(types: readonly EventType[], filter: Partial<EventFilter> = {}): EventSubscriptionRecord {
  return {
    id: "evs_15ChR1PDwZt22Rn2lfZrRo5" as EventSubscriptionId,
    types,
    filter: { ...NO_FILTER, ...filter },
    target: { service: "Alerts", handler: "receive" },
    webhook: undefined,
    description: undefined,
    createdAtMs: 0,
  };
}

function aDeployment(id: DeploymentId): DeploymentRecord {
  return {
    id,
    address: { kind: "http", uri: "http://localhost:9080/", httpVersion: "HTTP/2.0" },
    additionalHeaders: {},
    metadata: {},
    createdAtMs: 0,
    protocolType: "bidiStream",
    minProtocolVersion: 5,
    maxProtocolVersion: 5,
    sdkVersion: undefined,
    services: [],
  };
}

/** An environment whose metadata and partitions outlive the processes that check it. */
class World {
  readonly clock = new VirtualClock();
  readonly memory = emptyMemoryMetadata();
  subscribers: EventSubscriptionRecord[] = [];
  deployments = [aDeployment(NEW)];
  newest = NEW;
  pinned = new Map<DeploymentId, number>();
  isSaturated = false;
  isConsuming = true;
  isWhole = true;
  areUp = true;
  /** Called after a delivery is stored, before its sender gets the answer. */
  afterDelivery: () => void = () => undefined;
  readonly stored = new Map<InvocationId, Invoke>();
  submissions = 0;
  counts = 0;
  #process = this.#start();

  get ports(): EnvironmentEventsPorts {
    const limit: FlowLimitRow = {
      partitionKey: 1n,
      scope: "acme",
      l1: undefined,
      l2: undefined,
      level: "Scope",
      usage: 1,
      limit: 1,
      rule: "acme",
      waiterCount: 1,
    };
    const located = (id: DeploymentId) => ({ deployment: aDeployment(id) }) as LocatedRevision;
    return {
      registry: {
        eventSubscriptions: () => this.subscribers,
        subscriptions: () => [
          { id: SUBSCRIPTION, source: "kafka://c/t", sink: "service://S/h", options: {}, paused: false, skipped: [] },
        ],
        deployments: () => this.deployments,
        services: () => [located(this.newest)],
      },
      metadata: createMemoryMetadataStore(this.memory),
      partitions: {
        invoke: (command, _wait, observer) => {
          this.submissions++;
          if (!this.areUp) observer.unavailable("no leader");
          else {
            this.stored.set(command.id, command);
            this.afterDelivery();
            observer.submitted(undefined);
          }
          return { detach: () => undefined };
        },
      },
      subscriptionStatuses: () => [
        {
          id: SUBSCRIPTION,
          state: this.isConsuming ? "consuming" : "backingOff",
          assigned: [],
          positions: [],
          stuck: undefined,
          lastFailure: undefined,
          nextRetryAtMs: undefined,
          handledCount: 0,
        },
      ],
      limits: () => (this.isSaturated ? [limit] : []),
      buckets: () => [],
      countUsage: async (id) => {
        this.counts++;
        return { pinned: this.pinned.get(id) ?? 0, unfinishedByService: new Map() };
      },
      isWhole: () => this.isWhole,
      clock: this.clock,
      logger: silentLogger,
    };
  }

  /** Another process takes over: only what is stored remains. */
  restart(): void {
    this.#process = this.#start();
  }

  async check(count = 1): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.#process.check(new AbortController().signal);
      this.clock.advanceBy(OPTIONS.checkIntervalMs);
    }
  }

  #start(): EnvironmentEvents {
    return new EnvironmentEvents(this.ports, OPTIONS);
  }

  /** The stored events, in order. */
  get events(): { readonly type: string; readonly subject: string; readonly id: string; readonly data: object }[] {
    return [...this.stored.values()].map(({ input }) => {
      const decoded = decodeCommand(MessageType.Input, input);
      if (isFault(decoded) || decoded.kind !== "input") throw new Error("no input");
      return JSON.parse(Buffer.from(decoded.value).toString());
    });
  }

  get types(): string[] {
    return this.events.map(({ type }) => type);
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

test("without subscriptions to such events nothing is read", async () => {
  world.subscribers = [subscriber(["invocation.failed"])];
  world.isSaturated = true;
  world.deployments = [aDeployment(OLD), aDeployment(NEW)];
  await world.check(20);
  expect([world.stored.size, world.counts]).toEqual([0, 0]);
});

describe("a saturated limit", () => {
  beforeEach(() => {
    world.subscribers = [subscriber(["limit.saturated", "limit.recovered"])];
    world.isSaturated = true;
  });

  test("is reported once, its end once, and the next time again with another id", async () => {
    await world.check(20);
    expect(world.events).toMatchObject([{ type: "limit.saturated", subject: "acme", data: { running: 1, concurrency: 1 } }]);
    world.isSaturated = false;
    await world.check(5);
    expect(world.types).toEqual(["limit.saturated", "limit.recovered"]);
    world.isSaturated = true;
    await world.check(20);
    expect(world.types).toEqual(["limit.saturated", "limit.recovered", "limit.saturated"]);
    expect(new Set(world.events.map(({ id }) => id)).size).toBe(3);
  });

  test("is not reported again by the next process, which reports its end", async () => {
    await world.check(5);
    world.restart();
    await world.check(20);
    expect(world.types).toEqual(["limit.saturated"]);
    world.restart();
    world.isSaturated = false;
    await world.check(3);
    expect(world.types).toEqual(["limit.saturated", "limit.recovered"]);
  });

  test("is measured on by the next process", async () => {
    await world.check(2);
    world.restart();
    await world.check(1);
    expect(world.stored.size).toBe(0);
    world.restart();
    await world.check(1); // 30 seconds after the first one.
    expect(world.events).toMatchObject([{ type: "limit.saturated", data: { saturated_for_ms: 30_000 } }]);
  });

  test("is measured anew by a process that cannot say whether it was over meanwhile", async () => {
    await world.check(3);
    world.isSaturated = false;
    await world.check();
    world.isSaturated = true;
    world.restart();
    await world.check(3); // The check in between found it below its maximum.
    expect(world.stored.size).toBe(0);
    world.clock.advanceBy(120_000);
    world.restart();
    await world.check(3); // None checked for two minutes.
    expect(world.stored.size).toBe(0);
    await world.check();
    expect(world.events).toMatchObject([{ data: { saturated_for_ms: 30_000 } }]);
  });

  test("is measured anew for a subscription that is created later", async () => {
    const { subscribers } = world;
    await world.check(3);
    world.subscribers = [];
    await world.check(20);
    world.subscribers = subscribers;
    await world.check(3);
    expect(world.stored.size).toBe(0);
  });

  test("is delivered by the next process when the first one ends between mark and delivery, or before it notes the delivery", async () => {
    await world.check(3);
    world.areUp = false;
    await expect(world.check()).rejects.toMatchObject({ code: "ING0006" });
    expect(world.stored.size).toBe(0);
    world.restart();
    world.areUp = true;
    world.afterDelivery = () => {
      world.afterDelivery = () => undefined;
      throw new Error("killed");
    };
    await expect(world.check()).rejects.toThrow("killed");
    world.restart();
    await world.check(20);
    expect(world.types).toEqual(["limit.saturated"]);
    expect(world.submissions).toBe(3);
  });

  test("is not over while leaders are missing", async () => {
    await world.check(5);
    world.isSaturated = false;
    world.isWhole = false;
    await world.check(10);
    expect(world.types).toEqual(["limit.saturated"]);
  });

  test("is sent to the subscriptions whose filter matches", async () => {
    world.subscribers = [subscriber(["limit.saturated"], { scope: "other" }), subscriber(["limit.saturated"], { service: "S" })];
    await world.check(10);
    expect(world.stored.size).toBe(0);
    world.isSaturated = false;
    await world.check(5);
    world.subscribers = [subscriber(["limit.saturated"], { scope: "acme" })];
    world.isSaturated = true;
    await world.check(10);
    expect(world.types).toEqual(["limit.saturated"]);
  });

  test("has no mark any more when the last subscription ends", async () => {
    await world.check(10);
    world.subscribers = [];
    await world.check();
    expect(world.memory.documents.size).toBe(0);
  });
});

test("a stuck subscription is measured on by the next process", async () => {
  world.subscribers = [subscriber(["subscription.stuck"])];
  world.isConsuming = false;
  for (let n = 0; n < 7; n++) {
    expect(world.stored.size).toBe(0);
    await world.check();
    world.restart();
  }
  expect(world.types).toEqual(["subscription.stuck"]); // A minute after the first check.
});

test("a stuck subscription and its recovery are events", async () => {
  world.subscribers = [subscriber(ENVIRONMENT_EVENT_TYPES)];
  world.isConsuming = false;
  await world.check(20);
  world.restart();
  await world.check(20);
  world.isConsuming = true;
  await world.check(5);
  expect(world.events).toMatchObject([
    { type: "subscription.stuck", subject: SUBSCRIPTION },
    { type: "subscription.recovered", subject: SUBSCRIPTION },
  ]);
});

describe("a deployment", () => {
  beforeEach(() => {
    world.subscribers = [subscriber(["deployment.drained"])];
  });

  test("is drained when a newer one has its services and its last invocation has ended, once", async () => {
    world.deployments = [aDeployment(OLD)];
    world.newest = OLD;
    await world.check(3);
    world.deployments = [aDeployment(OLD), aDeployment(NEW)];
    world.newest = NEW;
    world.pinned.set(OLD, 2);
    await world.check(10);
    expect(world.stored.size).toBe(0);
    world.pinned.delete(OLD);
    await world.check(10);
    world.restart();
    await world.check(10);
    expect(world.events).toMatchObject([
      { type: "deployment.drained", subject: OLD, data: { deployment: OLD, endpoint: "http://localhost:9080/" } },
    ]);
  });

  test("is drained by a check each of two processes", async () => {
    world.deployments = [aDeployment(OLD), aDeployment(NEW)];
    world.pinned.set(OLD, 1);
    await world.check(3);
    world.pinned.delete(OLD);
    await world.check();
    world.restart();
    await world.check();
    expect(world.types).toEqual(["deployment.drained"]);
  });

  test("that was drained before the subscription causes no event, until it is used again", async () => {
    world.deployments = [aDeployment(OLD), aDeployment(NEW)];
    await world.check(10);
    world.restart();
    await world.check(10);
    expect(world.stored.size).toBe(0);
    world.pinned.set(OLD, 1);
    await world.check(5);
    world.pinned.delete(OLD);
    await world.check(5);
    expect(world.types).toEqual(["deployment.drained"]);
  });

  test("that was in use when the subscription began is reported when it is drained", async () => {
    world.deployments = [aDeployment(OLD), aDeployment(NEW)];
    world.pinned.set(OLD, 1);
    await world.check(3);
    world.pinned.delete(OLD);
    await world.check(5);
    expect(world.types).toEqual(["deployment.drained"]);
  });

  test("that is removed causes no event", async () => {
    world.deployments = [aDeployment(OLD), aDeployment(NEW)];
    world.pinned.set(OLD, 1);
    await world.check(3);
    world.deployments = [aDeployment(NEW)];
    await world.check(5);
    expect(world.stored.size).toBe(0);
  });
});
