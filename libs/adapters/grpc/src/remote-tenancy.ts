/**
 * Tenancy in another process: each call goes to the process that the watch is connected to, and to the next one when it does not answer.
 */

import { create } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { type Clock, type Logger, PerdureError, present, type Random } from "@perdure/base";
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
import type { Channel } from "./channel.js";
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
import { TENANCY_REQUEST_DEADLINE_MS } from "./limits.js";
import { isUnimplemented } from "./status.js";
import { callUnary } from "./unary.js";
import { callTenancyV01, eventOfV01, type TenancyMethod, type TenancyResult } from "./v01/tenancy.js";
import { WatchStream, watchForm } from "./watch-stream.js";

interface RemoteTenancyPorts {
  /** Channels to the tenancy processes there are; at least one. They stay the caller's to close. */
  readonly channels: readonly Channel[];
  readonly clock: Clock;
  /** Draws the pauses between attempts to connect. */
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
    if (signal.aborted) return;
    const { channels, logger } = this.#ports;
    let turn = 0;
    const watch = new WatchStream<TenancyChange>(this.#ports, {
      forms: [
        watchForm(tenancyDefinition.watchChanges, create(proto.WatchChangesRequestSchema), fromChange),
        // A process of v0.1 has the method of its own release only.
        watchForm(tenancyDefinition.watch, create(proto.WatchTenancyRequestSchema), eventOfV01),
      ],
      next: () => ({ client: present(channels[turn++ % channels.length]) }),
      onMessage: listener,
      onLost: (reason, pauseMs) =>
        logger.debug({ reason, pauseMs }, "lost the watch for changes; using the next tenancy process"),
    });
    signal.addEventListener("abort", () => watch.close(), { once: true });
  }

  /**
   * Every call may be repeated: usage reports are totals. A process of v0.1 does not have `method` and gets the request in the form of
   * v0.1.
   */
  async #request<In, Out, Method extends TenancyMethod>(
    method: MethodDefinition<In, Out>,
    request: In,
    [methodV01, ...valuesV01]: readonly [Method, ...unknown[]],
    resultOf: (response: Out) => TenancyResult<Method>,
  ): Promise<TenancyResult<Method>> {
    const { channels } = this.#ports;
    const options = { deadlineMs: TENANCY_REQUEST_DEADLINE_MS, callee: "tenancy" };
    let last: unknown;
    for (let tries = 0; tries < channels.length; tries++) {
      const turn = this.#turn;
      const client = present(channels[turn % channels.length]);
      try {
        return resultOf(await callUnary(client, method, request, options));
      } catch (cause) {
        last = cause;
      }
      if (last instanceof Error && isUnimplemented(last.cause)) {
        try {
          return await callTenancyV01(client, methodV01, valuesV01, options);
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
