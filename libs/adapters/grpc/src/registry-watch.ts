/** Keeps the state of a registry in another process. A change of the registry resolves when the state that shows it has arrived here. */

import { create } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { type Clock, type Logger, PerdureError, present, type Random } from "@perdure/base";
import { keepUnchanged, type RegistrySnapshot } from "@perdure/control";
import type { DeploymentRecord, EffectiveOptions, ServiceRevision } from "@perdure/metadata";
import type { Channel } from "./channel.js";
import { required } from "./codec/checks.js";
import type { RegistryRecords } from "./codec/registry.js";
import * as codec from "./codec/registry.js";
import * as snapshotCodec from "./codec/snapshot.js";
import { registryDefinition } from "./definitions.js";
import * as proto from "./gen/v1/registry_pb.js";
import { CHANGE_DEADLINE_MS, STATE_WAIT_MS } from "./limits.js";
import { isUnimplemented } from "./status.js";
import { callUnary } from "./unary.js";
import { type ChangeMethod, type ChangeResult, changeV01, fromStateV01 } from "./v01/registry.js";
import { WatchStream, watchForm } from "./watch-stream.js";

export interface RemoteRegistryPorts {
  /** Channels to the registries there are; at least one. They stay the caller's to close. */
  readonly channels: readonly Channel[];
  readonly clock: Clock;
  /** Draws the pauses between attempts to connect. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

export interface RemoteRegistryOptions {
  /** Whether the records for management APIs are needed: without them only `current` has a value. */
  readonly withRecords: boolean;
}

interface RegistryStateUpdate {
  readonly snapshot: RegistrySnapshot;
  readonly records?: RegistryRecords | undefined;
}

/** The result of a change. */
interface RegistryChangeResult<Result> {
  readonly value: Result;
  /** Number of the state that shows the change; absent when nothing was changed. */
  readonly stateNumber?: bigint | undefined;
  /** The deployment that `value` is or holds, and the options of its services in their order. */
  readonly deployment?: DeploymentRecord | undefined;
  readonly effective?: readonly EffectiveOptions[] | undefined;
}

/** A change as a unary call of this release, and as v0.1 requested it. */
interface RegistryChange<In, Out, Method extends ChangeMethod> {
  readonly method: MethodDefinition<In, Out>;
  readonly request: In;
  readonly answerOf: (response: Out) => RegistryChangeResult<ChangeResult<Method>>;
  readonly v01: readonly [Method, ...unknown[]];
}

const NOTHING: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };

interface NumberedState {
  readonly number: bigint;
  readonly state: RegistryStateUpdate;
}

/** Listens to one of the registries, and to the next when it is lost. */
export class RegistryWatch {
  readonly ready: Promise<void>;
  state: RegistryStateUpdate = { snapshot: NOTHING, records: undefined };
  /** Options of revisions that came as answers to changes: those of a dry run are in no state. */
  readonly unshown = new WeakMap<ServiceRevision, EffectiveOptions>();
  readonly #ports: RemoteRegistryPorts;
  readonly #listeners = new Set<() => void>();
  #becomeReady: () => void = () => undefined;
  readonly #watch: WatchStream<NumberedState>;
  #channel = 0;
  #number = 0n;
  /** Changes that wait until the state that shows them arrives here. */
  #unseen: { readonly number: bigint; readonly finish: () => void }[] = [];
  #isClosed = false;
  /** Undefined while a registry is listened to. Monotonic. */
  #lostAtMs: number | undefined;

  constructor(ports: RemoteRegistryPorts, { withRecords }: RemoteRegistryOptions) {
    this.#ports = ports;
    this.#lostAtMs = ports.clock.monotonicMs();
    this.ready = new Promise((resolve) => {
      this.#becomeReady = resolve;
    });
    const request = create(proto.WatchStateRequestSchema, { withRecords });
    const requestV01 = create(proto.WatchRegistryRequestSchema, { withRecords });
    this.#watch = new WatchStream<NumberedState>(ports, {
      forms: [
        watchForm(registryDefinition.watchState, request, stateOf),
        // A process of v0.1 has the method of its own release only.
        watchForm(registryDefinition.watch, requestV01, (message) => ({ number: message.number, state: fromStateV01(message) })),
      ],
      next: () => ({ client: this.client }),
      onMessage: (message) => this.#update(message),
      onLost: (reason, pauseMs) => this.#lost(reason, pauseMs),
    });
  }

  get syncAgeMs(): number {
    return this.#lostAtMs === undefined ? 0 : this.#ports.clock.monotonicMs() - this.#lostAtMs;
  }

  /** Number of the last state of the registry that is watched; 0 until it has sent one. */
  get stateNumber(): bigint {
    return this.#number;
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
    this.#watch.close();
    this.#number = 0n;
    this.#finishUpTo(undefined);
  }

  /**
   * Resolves when the state that shows the change has arrived in this process. A registry of v0.1 does not have `method` and gets the
   * request in the form of v0.1.
   */
  async change<In, Out, Method extends ChangeMethod>(
    { method, request, answerOf, v01 }: RegistryChange<In, Out, Method>,
    signal?: AbortSignal,
  ): Promise<ChangeResult<Method>> {
    const channel = this.#channel;
    const { client } = this;
    const options = { deadlineMs: CHANGE_DEADLINE_MS, signal, callee: "the registry" };
    let answer: RegistryChangeResult<ChangeResult<Method>>;
    try {
      answer = answerOf(await callUnary(client, method, request, options));
    } catch (cause) {
      if (!(cause instanceof Error && isUnimplemented(cause.cause))) throw cause;
      const [methodV01, ...valuesV01] = v01;
      answer = await changeV01(client, methodV01, valuesV01, options);
    }
    const { value, deployment, effective = [], stateNumber = 0n } = answer;
    await this.#sees(channel, stateNumber);
    for (const [i, revision] of (deployment?.services ?? []).entries()) {
      const options = effective[i];
      if (options !== undefined) this.unshown.set(revision, options);
    }
    return value;
  }

  /** Like `change`, for a method that v0.1 does not have. */
  async changeAfterV01<In, Out, Result>(
    method: MethodDefinition<In, Out>,
    request: In,
    answerOf: (response: Out) => { readonly value: Result; readonly stateNumber: bigint },
  ): Promise<Result> {
    const channel = this.#channel;
    const options = { deadlineMs: CHANGE_DEADLINE_MS, signal: undefined, callee: "the registry" };
    const { value, stateNumber } = answerOf(await callUnary(this.client, method, request, options));
    await this.#sees(channel, stateNumber);
    return value;
  }

  /** The registry that is listened to. */
  get client(): Channel {
    const { channels } = this.#ports;
    return present(channels[this.#channel % channels.length]);
  }

  #update({ number, state }: NumberedState): void {
    this.state = { ...state, snapshot: keepUnchanged(state.snapshot, this.state.snapshot) };
    this.#lostAtMs = undefined;
    this.#becomeReady();
    for (const listener of this.#listeners) listener();
    this.#finishUpTo(number);
  }

  #lost(reason: string, pauseMs: number): void {
    this.#lostAtMs ??= this.#ports.clock.monotonicMs();
    this.#number = 0n;
    this.#channel++;
    // Another registry counts for itself; its first state has everything that was durable.
    this.#unseen = this.#unseen.map(({ finish }) => ({ number: 0n, finish }));
    this.#ports.logger.debug({ reason, pauseMs }, "lost the registry; using its last state");
  }

  /** Resolves when this process sees the state too; a watch that hangs must not keep a durable change from being answered. */
  #sees(channel: number, number: bigint): Promise<void> {
    const isWatched = this.#channel === channel && this.#number > 0n;
    if (this.#isClosed || (isWatched && this.#number >= number)) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#ports.clock.setTimer(STATE_WAIT_MS, resolve);
      const finish = (): void => {
        timer.cancel();
        resolve();
      };
      // With another registry's watch the first state counts: it has everything that was durable.
      this.#unseen.push({ number: isWatched ? number : 0n, finish });
    });
  }

  /** `undefined`: all. */
  #finishUpTo(number: bigint | undefined): void {
    if (number !== undefined) this.#number = number;
    const waiting = this.#unseen;
    this.#unseen = waiting.filter((each) => number !== undefined && each.number > number);
    for (const each of waiting) if (!this.#unseen.includes(each)) each.finish();
  }
}

function stateOf({ number, snapshot, records }: proto.WatchStateResponse): NumberedState {
  const state = {
    snapshot: snapshotCodec.snapshot.from(required(snapshot, "the state of a registry")),
    records: records && codec.records.from(records),
  };
  return { number, state };
}
