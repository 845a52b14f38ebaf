/**
 * The public gateway of the cloud for ingress and management. It resolves the environment and the caller of a request, checks permission
 * and rate, and then streams bytes between caller and runtime. This file wires the parts and runs their lifecycle:
 *
 * listener ─▸ reception ─▸ admission ─▸ proxied request ─▸ runtime
 * └─────────────┴─▸ answers (the gateway's own)          settlement: counters, metrics, usage
 */
import type { TimerHandle } from "@perdure/base";
import type { TenancyChange } from "@perdure/cloud";
import type { HttpPort } from "@perdure/http-server";
import { ClientAddresses } from "./addresses.js";
import { GatewayAdmission } from "./admission.js";
import { Answers } from "./answers.js";
import { Callers } from "./callers.js";
import { ConnectionCount } from "./connection-count.js";
import { GatewayEnvironments } from "./environments.js";
import { errorBody } from "./gateway-answer.js";
import type { GatewayRequest, RequestOwner } from "./gateway-request.js";
import { HostNames } from "./host.js";
import { CONNECTIONS_PER_NETWORK_MAX, DRAIN_MS, SWEEP_MS } from "./limits.js";
import { createListener } from "./listener.js";
import type { CloudGateway, GatewayOptions, GatewayPorts, ListenOptions, OpenListener } from "./ports.js";
import { PublicAnswers } from "./public-answers.js";
import { RateSharing } from "./rate-shares.js";
import { type Entrance, Reception } from "./reception.js";
import { malformed } from "./refusal.js";
import { RequestIds } from "./request-id.js";
import { type RequestOutcome, Settlement } from "./settlement.js";
import { Upstreams } from "./upstreams.js";
import { UsageBook } from "./usage.js";

export function createCloudGateway(ports: GatewayPorts, options: GatewayOptions): CloudGateway {
  return new Gateway(ports, options);
}

class Gateway implements CloudGateway, RequestOwner {
  readonly #ports: GatewayPorts;
  readonly #options: GatewayOptions;
  readonly #ids: RequestIds;
  readonly #usage: UsageBook;
  readonly #rates: RateSharing;
  readonly #environments: GatewayEnvironments;
  readonly #callers: Callers;
  readonly #upstreams: Upstreams;
  readonly #answers: Answers;
  readonly #admission: GatewayAdmission;
  readonly #reception: Reception;
  readonly #settlement: Settlement;
  readonly #connections: ConnectionCount;
  readonly #listeners = new Set<HttpPort>();
  readonly #watch = new AbortController();
  #sweep: TimerHandle;
  #inFlight = 0;
  #closed: Promise<void> | undefined;

  constructor(ports: GatewayPorts, options: GatewayOptions) {
    const { tenancy, clock, random, logger, metrics, edge } = ports;
    this.#ports = ports;
    this.#options = options;
    this.#ids = new RequestIds(clock, random);
    this.#connections = new ConnectionCount(
      options.connectionsPerNetworkMax ?? CONNECTIONS_PER_NETWORK_MAX,
      options.trustedProxies,
    );
    const name = `gateway-${this.#ids.next()}`;
    this.#usage = new UsageBook({ tenancy, clock, logger }, name);
    this.#rates = new RateSharing({ tenancy, clock, logger }, name, options.region);
    this.#environments = new GatewayEnvironments(tenancy, clock, this.#usage);
    this.#callers = new Callers(tenancy, clock);
    this.#upstreams = new Upstreams(clock);
    const publicAnswers = new PublicAnswers(this.#upstreams, clock);
    this.#answers = new Answers({ clock, logger, publicAnswers }, options.consoleUrl);
    const nextTurn = (turn: () => void): void => void setImmediate(turn);
    const parts = { answers: this.#answers, upstreams: this.#upstreams, rates: this.#rates };
    const environments = this.#environments;
    this.#admission = new GatewayAdmission({ tenancy, environments, clock, metrics, edge, nextTurn, ...parts }, options.issuer);
    this.#settlement = new Settlement({ logger, metrics }, options.logsRequests !== false);
    this.#reception = new Reception(
      {
        clock,
        hosts: new HostNames(options.domain),
        ids: this.#ids,
        addresses: new ClientAddresses(clock, options.networkLimits),
        environments: this.#environments,
        callers: this.#callers,
        answers: this.#answers,
        admission: this.#admission,
      },
      options,
    );
    this.#sweep = clock.setTimer(SWEEP_MS, () => this.#sweepAll());
    tenancy.watch((change) => this.#applyChange(change), { signal: this.#watch.signal });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get stats(): CloudGateway["stats"] {
    return {
      heldRefusals: this.#answers.held,
      waiting: this.#admission.waiting,
      heldForWaking: this.#admission.heldForWaking,
      gateways: this.#rates.gateways,
      callers: this.#callers.stats,
      environments: this.#environments.stats,
    };
  }

  async listen({ endpoint, host, port, certificates, environment }: ListenOptions): Promise<OpenListener> {
    const entrance: Entrance = { endpoint, environment };
    const listener = createListener(
      {
        request: (exchange) => {
          this.#inFlight++;
          this.#reception.enter(this, entrance, exchange);
        },
        unreadable: (refused) => errorBody(refused, this.#ids.next()),
        flooded: () => this.#ports.metrics?.flooded(),
      },
      certificates,
      { ...this.#ports, connections: this.#connections },
    );
    const address = await listener.listen(host === undefined ? { port } : { host, port });
    this.#listeners.add(listener);
    return {
      address,
      [Symbol.asyncDispose]: async () => {
        this.#listeners.delete(listener);
        await listener.close(this.#options.drainMs ?? DRAIN_MS);
      },
    };
  }

  shareRates(): Promise<void> {
    return this.#rates.sync();
  }

  reportUsage(): Promise<void> {
    return this.#usage.report();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#answers.close();
    await Promise.all([...this.#listeners].map((listener) => listener.close(this.#options.drainMs ?? DRAIN_MS)));
    this.#admission.close();
    this.#watch.abort();
    this.#sweep.cancel();
    await this.#rates[Symbol.asyncDispose]();
    this.#answers.close();
    await this.#upstreams[Symbol.asyncDispose]();
    await this.#usage.close();
  }

  completed(request: GatewayRequest, outcome: RequestOutcome): void {
    this.#inFlight--;
    this.#admission.left(request);
    this.#settlement.record(request, outcome, this.#ports.clock.monotonicMs());
  }

  unreadable(request: GatewayRequest): void {
    this.#answers.refuse(request, UNREADABLE_BODY);
  }

  #applyChange(change: TenancyChange): void {
    this.#environments.applyChange(change);
    this.#callers.applyChange(change);
  }

  #sweepAll(): void {
    const nowMs = this.#ports.clock.monotonicMs();
    this.#admission.sweep(nowMs);
    this.#upstreams.sweep(nowMs);
    this.#sweep = this.#ports.clock.setTimer(SWEEP_MS, () => this.#sweepAll());
  }
}

const UNREADABLE_BODY = malformed("The body cannot be read in one way only");
