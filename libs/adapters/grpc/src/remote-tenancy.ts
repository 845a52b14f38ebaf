/**
 * Tenancy in another process: each call goes to the process that the watch is connected to, and to the next one when it does not answer.
 */
import { create } from "@bufbuild/protobuf";
import type { Client, ClientReadableStream, MethodDefinition } from "@grpc/grpc-js";
import { Backoff, type Clock, type Logger, PerdureError, type Random, type TimerHandle } from "@perdure/base";
import type {
  Authentication,
  BareEnvironmentId,
  EnvironmentFacts,
  EnvironmentId,
  GatewayReport,
  RateShares,
  Tenancy,
  TenancyChange,
  TunnelsReport,
  UsageReport,
} from "@perdure/cloud";
import {
  checkedEnvironmentId,
  fromAuthentication,
  fromChange,
  fromEnvironment,
  fromRateShares,
  toGatewayReport,
  toTunnelsReport,
  toUsageReports,
} from "./codec/tenancy.js";
import { tenancyDefinition } from "./definitions.js";
import * as proto from "./gen/v1/tenancy_pb.js";
import { RECONNECT_BOUNDS, TENANCY_REQUEST_DEADLINE_MS } from "./limits.js";
import { isUnimplemented } from "./status.js";
import { callUnary } from "./unary.js";
import { callTenancyV01, eventOfV01, type TenancyMethod } from "./v01/tenancy.js";

export interface RemoteTenancyPorts {
  /** Channels to the tenancy processes there are; at least one. They stay the caller's to close. */
  readonly channels: readonly Client[];
  readonly clock: Clock;
  /** For the pauses between tries to connect. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

export class RemoteTenancy implements Tenancy {
  readonly #ports: RemoteTenancyPorts;
  /** Place of the channel that answered last. */
  #turn = 0;

  constructor(ports: RemoteTenancyPorts) {
    this.#ports = ports;
  }

  async environment(bare: BareEnvironmentId): Promise<EnvironmentFacts | undefined> {
    const request = create(proto.GetEnvironmentRequestSchema, { bareId: bare });
    return this.#request(tenancyDefinition.getEnvironment, request, ["environment", bare], ({ environment }) =>
      environment === undefined ? undefined : fromEnvironment(environment),
    );
  }

  async environments(): Promise<readonly EnvironmentFacts[]> {
    const request = create(proto.ListEnvironmentsRequestSchema);
    return this.#request(tenancyDefinition.listEnvironments, request, ["environments"], ({ environments }) =>
      environments.map(fromEnvironment),
    );
  }

  async authenticate(credential: string, environmentId: EnvironmentId): Promise<Authentication> {
    const request = create(proto.AuthenticateRequestSchema, { credential, environmentId });
    return this.#request(
      tenancyDefinition.authenticate,
      request,
      ["authenticate", credential, environmentId],
      fromAuthentication,
    );
  }

  async report(reports: readonly UsageReport[]): Promise<void> {
    await this.#request(tenancyDefinition.reportUsage, toUsageReports(reports), ["report", reports], () => undefined);
  }

  async reportTunnels(report: TunnelsReport): Promise<void> {
    await this.#request(tenancyDefinition.reportTunnels, toTunnelsReport(report), ["reportTunnels", report], () => undefined);
  }

  async shareRates(report: GatewayReport): Promise<RateShares> {
    return this.#request(tenancyDefinition.shareRates, toGatewayReport(report), ["shareRates", report], fromRateShares);
  }

  async runtimeOf(token: string): Promise<EnvironmentId | undefined> {
    const request = create(proto.IdentifyRuntimeRequestSchema, { token });
    return this.#request(tenancyDefinition.identifyRuntime, request, ["runtimeOf", token], ({ environmentId }) =>
      environmentId === undefined ? undefined : checkedEnvironmentId(environmentId),
    );
  }

  watch(listener: (event: TenancyChange) => void, { signal }: { readonly signal: AbortSignal }): void {
    if (!signal.aborted) new TenancyWatch(this.#ports, listener, signal);
  }

  /**
   * Every call may be repeated: usage reports are totals. A process of v0.1 does not have `method` and gets the request in the form of
   * v0.1.
   */
  async #request<In, Out, Result>(
    method: MethodDefinition<In, Out>,
    request: In,
    [methodV01, ...valuesV01]: readonly [TenancyMethod, ...unknown[]],
    resultOf: (response: Out) => Result,
  ): Promise<Result> {
    const { channels } = this.#ports;
    const options = { deadlineMs: TENANCY_REQUEST_DEADLINE_MS, callee: "tenancy" };
    let last: unknown;
    for (let tries = 0; tries < channels.length; tries++) {
      const turn = this.#turn;
      const client = channels[turn % channels.length] as Client;
      try {
        return resultOf(await callUnary(client, method, request, options));
      } catch (cause) {
        last = cause;
      }
      if (isUnimplemented((last as Error).cause)) {
        try {
          return (await callTenancyV01(client, methodV01, valuesV01, options)) as Result;
        } catch (cause) {
          last = cause;
        }
      }
      if (this.#turn === turn) this.#turn++; // Another failed call may have moved on already.
    }
    const { detail } = PerdureError.from(last);
    throw new PerdureError("TEN0001", detail, { cause: last });
  }
}

class TenancyWatch {
  readonly #ports: RemoteTenancyPorts;
  readonly #backoff: Backoff;
  readonly #listener: (event: TenancyChange) => void;
  #stream: ClientReadableStream<unknown> | undefined;
  #pause: TimerHandle | undefined;
  #turn = 0;
  #isStopped = false;

  constructor(ports: RemoteTenancyPorts, listener: (event: TenancyChange) => void, signal: AbortSignal) {
    this.#ports = ports;
    this.#backoff = new Backoff(RECONNECT_BOUNDS, ports.random);
    this.#listener = listener;
    signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#listen();
  }

  #listen(): void {
    const { channels } = this.#ports;
    const client = channels[this.#turn++ % channels.length] as Client;
    this.#read(client, tenancyDefinition.watchChanges, create(proto.WatchChangesRequestSchema), fromChange, () => {
      // A process of v0.1 has the method of its own release only.
      this.#read(client, tenancyDefinition.watch, create(proto.WatchTenancyRequestSchema), eventOfV01, undefined);
    });
  }

  /** `onUnimplemented` is called instead of a pause when the process does not have the method. */
  #read<In, Out>(
    client: Client,
    { path, requestSerialize, responseDeserialize }: MethodDefinition<In, Out>,
    request: In,
    eventOf: (message: Out) => TenancyChange,
    onUnimplemented: (() => void) | undefined,
  ): void {
    const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
    this.#stream = stream;
    stream.on("data", (message: Out) => {
      if (this.#stream !== stream) return;
      let event: TenancyChange;
      try {
        event = eventOf(message);
      } catch (cause) {
        return this.#lost(stream, PerdureError.from(cause).message);
      }
      this.#backoff.reset();
      this.#listener(event);
    });
    stream.on("end", () => this.#lost(stream, "it closed the stream"));
    stream.on("error", (error: Error) => {
      if (onUnimplemented === undefined || !isUnimplemented(error)) return this.#lost(stream, error.message);
      if (!this.#isStopped && this.#stream === stream) onUnimplemented();
    });
  }

  #lost(stream: ClientReadableStream<unknown>, reason: string): void {
    if (this.#isStopped || this.#stream !== stream) return;
    this.#hangUp();
    const { clock, logger } = this.#ports;
    const pauseMs = this.#backoff.next();
    logger.debug({ reason, pauseMs }, "lost the watch for changes; using the next tenancy process");
    this.#pause = clock.setTimer(pauseMs, () => this.#listen());
  }

  #stop(): void {
    this.#isStopped = true;
    this.#pause?.cancel();
    this.#hangUp();
  }

  #hangUp(): void {
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.on("error", () => undefined); // `cancel` emits an error on the stream.
    stream?.cancel();
  }
}
