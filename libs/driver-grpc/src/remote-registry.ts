/**
 * The registry in another process: reads answer at once from the state heard last, so the data path goes on while no registry can
 * be reached; changes go to a registry and resolve when this process sees them too.
 */
import { create } from "@bufbuild/protobuf";
import { type Client, type ClientReadableStream, Metadata } from "@grpc/grpc-js";
import { Backoff, type Clock, type Logger, PerdureError, type Random, type TimerHandle } from "@perdure/base";
import type { RegistrySnapshot, RegistryView } from "@perdure/control";
import type { EffectiveOptions, LocatedRevision, Registry, ServiceRevision } from "@perdure/metadata";
import type { Schedules } from "@perdure/schedule";
import { fromJson, toJson } from "./codec/json.js";
import {
  type ChangeMethod,
  type ChangeResult,
  decodeState,
  deploymentIn,
  type RegistryRecords,
  revisionKey,
  type TravellingState,
} from "./codec/registry.js";
import { registryDefinition } from "./definitions.js";
import { type ChangeReply, ChangeRequestSchema, type RegistryState, WatchRegistryRequestSchema } from "./gen/v1/registry_pb.js";
import { CHANGE_DEADLINE_MS, RECONNECT_BOUNDS, SEEN_WAIT_MS, SNAPSHOT_DEADLINE_MS } from "./limits.js";
import { errorOf } from "./refusal.js";
import { remoteSchedules } from "./remote-schedules.js";
import { askUnary } from "./unary.js";

export interface RemoteRegistryPorts {
  /** Channels to the registries there are; at least one. They stay the caller's to close. */
  readonly channels: readonly Client[];
  readonly clock: Clock;
  /** For the pauses between tries to connect. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

export interface RemoteRegistryOptions {
  /** Whether people's records are wanted: without them only `current` answers. */
  readonly withRecords: boolean;
}

export interface RemoteRegistry extends Registry, RegistryView {
  /** Resolves when the first state is here. */
  readonly ready: Promise<void>;
  /** Those of the registry that is listened to. */
  readonly schedules: Schedules;
  /** What each registry that answers in time has now, in no order; other registries than the one that is listened to among them. */
  snapshots(): Promise<readonly RegistrySnapshot[]>;
  /** Since a registry was last listened to: what is known may be as old. 0 while one is. */
  readonly syncAgeMs: number;
  close(): void;
}

export function openRemoteRegistry(ports: RemoteRegistryPorts, options: RemoteRegistryOptions): RemoteRegistry {
  const watch = new Watch(ports, options);
  const records = (): RegistryRecords => watch.records;
  const change = <T>(method: ChangeMethod, values: readonly unknown[], signal?: AbortSignal): Promise<T> =>
    watch.change(method, values, signal) as Promise<T>;
  const located = (deploymentId: string, name: string): LocatedRevision | undefined => {
    const deployment = records().deployments.find(({ id }) => id === deploymentId);
    const revision = deployment?.services.find(({ definition }) => definition.name === name);
    return deployment === undefined || revision === undefined ? undefined : { deployment, revision };
  };
  const required = <T>(found: T | undefined): T => {
    if (found === undefined) throw new PerdureError("OPS0003", "a state of the registry names a revision that it does not hold");
    return found;
  };

  return {
    ready: watch.ready,
    schedules: remoteSchedules(() => watch.client),
    get syncAgeMs() {
      return watch.syncAgeMs;
    },
    close: () => watch.close(),
    snapshots: async () => (await Promise.all(ports.channels.map(snapshotOf))).filter((each) => each !== undefined),
    current: () => watch.state.snapshot,
    onChange: (listener) => watch.onChange(listener),

    register: (request, signal) => change("register", [request], signal),
    checkRegistration: (request, wishes, signal) => change("checkRegistration", [request, wishes], signal),
    checkDeployment: (id, wishes, signal) => change("checkDeployment", [id, wishes], signal),
    update: (id, request, signal) => change("update", [id, request], signal),
    remove: (id, force) => change("remove", [id, force]),
    deployment: (id) => records().deployments.find((deployment) => deployment.id === id),
    deployments: () => records().deployments,
    service(name) {
      const latest = records().latest.find((each) => each.name === name);
      return latest === undefined ? undefined : required(located(latest.deploymentId, name));
    },
    services: () => records().latest.map(({ deploymentId, name }) => required(located(deploymentId, name))),
    effective: (located) => watch.unshown.get(located.revision) ?? required(records().effective.get(revisionKey(located))),
    modifyService: (name, changes) => change("modifyService", [name, changes]),

    kafkaCluster: (name) => records().kafkaClusters.find((cluster) => cluster.name === name),
    kafkaClusters: () => records().kafkaClusters,
    createKafkaCluster: (name, properties) => change("createKafkaCluster", [name, properties]),
    updateKafkaCluster: (name, properties) => change("updateKafkaCluster", [name, properties]),
    removeKafkaCluster: (name, force) => change("removeKafkaCluster", [name, force]),

    subscription: (id) => records().subscriptions.find((subscription) => subscription.id === id),
    subscriptions: () => records().subscriptions,
    createSubscription: (source, sink, values) => change("createSubscription", [source, sink, values]),
    removeSubscription: (id) => change("removeSubscription", [id]),
    pauseSubscription: (id, paused) => change("pauseSubscription", [id, paused]),
    skipRecord: (id, place) => change("skipRecord", [id, place]),

    rules: () => records().rules,
    putRules: (changes) => change("putRules", [changes]),
    deleteRules: (deletions) => change("deleteRules", [deletions]),
  };
}

/** The first state of a watch that ends with it; undefined when there is none in time. */
function snapshotOf(channel: Client): Promise<RegistrySnapshot | undefined> {
  const { path, requestSerialize, responseDeserialize } = registryDefinition.watch;
  const request = create(WatchRegistryRequestSchema, { withRecords: false });
  const options = { deadline: Date.now() + SNAPSHOT_DEADLINE_MS };
  return new Promise((resolve) => {
    const stream = channel.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, new Metadata(), options);
    stream.once("data", ({ body }: RegistryState) => {
      resolve(decodeState(body).snapshot);
      stream.cancel();
    });
    stream.on("end", () => resolve(undefined));
    stream.on("error", () => resolve(undefined)); // Cancelling reports itself as an error, too.
  });
}

const NOTHING: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };

class Watch {
  readonly ready: Promise<void>;
  readonly #backoff: Backoff;
  state: TravellingState = { snapshot: NOTHING, records: undefined };
  /** Options of revisions that came as answers to changes: those of a dry run are in no state. */
  readonly unshown = new WeakMap<ServiceRevision, EffectiveOptions>();
  readonly #ports: RemoteRegistryPorts;
  readonly #withRecords: boolean;
  readonly #listeners = new Set<() => void>();
  #becomeReady: () => void = () => undefined;
  #channel = 0;
  #stream: ClientReadableStream<RegistryState> | undefined;
  #number = 0n;
  /** Changes that wait until their state is seen here. */
  #unseen: { readonly number: bigint; readonly seen: () => void }[] = [];
  #pause: TimerHandle | undefined;
  #isClosed = false;
  /** Undefined while a registry is listened to. Monotonic. */
  #lostAtMs: number | undefined;

  constructor(ports: RemoteRegistryPorts, options: RemoteRegistryOptions) {
    this.#ports = ports;
    this.#backoff = new Backoff(RECONNECT_BOUNDS, ports.random);
    this.#withRecords = options.withRecords;
    this.#lostAtMs = ports.clock.monotonicMs();
    this.ready = new Promise((resolve) => {
      this.#becomeReady = resolve;
    });
    this.#listen();
  }

  get syncAgeMs(): number {
    return this.#lostAtMs === undefined ? 0 : this.#ports.clock.monotonicMs() - this.#lostAtMs;
  }

  get records(): RegistryRecords {
    const { records } = this.state;
    if (records === undefined) throw new PerdureError("OPS0004", "the registry has not been reached yet");
    return records;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#pause?.cancel();
    this.#hangUp();
    this.#seenUpTo(undefined);
  }

  async change(method: ChangeMethod, values: readonly unknown[], signal: AbortSignal | undefined): Promise<unknown> {
    const channel = this.#channel;
    const reply = await this.#ask(method, values, signal);
    switch (reply.outcome.case) {
      case "changed": {
        const { result, stateNumber } = reply.outcome.value;
        await this.#sees(channel, stateNumber);
        return this.#take(fromJson(result) as ChangeResult);
      }
      case "refused":
        throw errorOf(reply.outcome.value);
      case undefined:
        throw new PerdureError("OPS0003", "a registry answered nothing");
    }
  }

  #take({ value, effective }: ChangeResult): unknown {
    for (const [i, revision] of (deploymentIn(value)?.services ?? []).entries()) {
      const options = effective[i];
      if (options !== undefined) this.unshown.set(revision, options);
    }
    return value ?? undefined;
  }

  #ask(method: ChangeMethod, values: readonly unknown[], signal: AbortSignal | undefined): Promise<ChangeReply> {
    const request = create(ChangeRequestSchema, { method, arguments: toJson(values) });
    const options = { deadlineMs: CHANGE_DEADLINE_MS, signal, whom: "the registry" };
    return askUnary(this.client, registryDefinition.change, request, options);
  }

  /** The registry that is listened to. */
  get client(): Client {
    const { channels } = this.#ports;
    return channels[this.#channel % channels.length] as Client;
  }

  #listen(): void {
    const { path, requestSerialize, responseDeserialize } = registryDefinition.watch;
    const request = create(WatchRegistryRequestSchema, { withRecords: this.#withRecords });
    const stream = this.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    this.#stream = stream;
    stream.on("data", ({ number, body }: RegistryState) => {
      if (this.#stream !== stream) return;
      this.#backoff.reset();
      this.#lostAtMs = undefined;
      this.state = decodeState(body);
      this.#becomeReady();
      for (const listener of this.#listeners) listener();
      this.#seenUpTo(number);
    });
    stream.on("end", () => this.#lost(stream, "it closed the stream"));
    stream.on("error", (error: Error) => this.#lost(stream, error.message));
  }

  #lost(stream: ClientReadableStream<RegistryState>, reason: string): void {
    if (this.#isClosed || this.#stream !== stream) return;
    this.#hangUp();
    this.#lostAtMs ??= this.#ports.clock.monotonicMs();
    this.#channel++;
    // Another registry counts for itself; its first state has everything that was durable.
    this.#unseen = this.#unseen.map(({ seen }) => ({ number: 0n, seen }));
    const pauseMs = this.#backoff.next();
    this.#ports.logger.debug({ reason, pauseMs }, "lost the registry; using its last known state");
    this.#pause = this.#ports.clock.setTimer(pauseMs, () => this.#listen());
  }

  #hangUp(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    this.#number = 0n;
    stream?.on("error", () => undefined); // Cancelling reports itself as an error, which is what we asked for.
    stream?.cancel();
  }

  /** Resolves when this process sees the state too; a watch that hangs must not keep a durable change from being answered. */
  #sees(channel: number, number: bigint): Promise<void> {
    const isWatched = this.#channel === channel && this.#number > 0n;
    if (this.#isClosed || (isWatched && this.#number >= number)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#ports.clock.setTimer(SEEN_WAIT_MS, resolve);
      const seen = (): void => {
        timer.cancel();
        resolve();
      };
      // Of another registry's watch the first state counts: it has everything that was durable.
      this.#unseen.push({ number: isWatched ? number : 0n, seen });
    });
  }

  /** `undefined`: all. */
  #seenUpTo(number: bigint | undefined): void {
    if (number !== undefined) this.#number = number;
    const waiting = this.#unseen;
    this.#unseen = waiting.filter((each) => number !== undefined && each.number > number);
    for (const each of waiting) if (!this.#unseen.includes(each)) each.seen();
  }
}
