/**
 * The tunnel relay. Clients of customers connect to one port, runtimes to the other; each request of a runtime is a stream on a connection
 * that a client of its environment opened (cloud.md §2).
 */
import type { AddressInfo, Socket } from "node:net";
import { PerdureError, RateLimiter, SummaryLog, type TimerHandle } from "@perdure/base";
import { bareOf, mayCaller, randomBase62, type TenancyChange, type TunnelEvent, type TunnelsReport } from "@perdure/cloud";
import type { TunnelStatus } from "@perdure/tunnel";
import { TunnelAdmission } from "./admission.js";
import { TunnelAudit } from "./audit.js";
import { type ConnectionFacts, RelayConnection } from "./connection.js";
import { RelayEnvironments } from "./environments.js";
import { greet } from "./handshake.js";
import { DRAIN_MS, DRAIN_NOTICE_MS, HANDSHAKES_PER_MINUTE, NETWORKS_MAX, REAUTHORISE_MS, STALE_MS } from "./limits.js";
import { RelayPeers } from "./peers.js";
import type { RelayListenOptions, RelayOptions, RelayPorts, TunnelRelay } from "./ports.js";
import { ProxyHandler } from "./proxy.js";
import { openProxyPort, type ProxyPort } from "./proxy-port.js";
import { openTunnelPort, type TunnelPort } from "./tunnel-port.js";
import { OpenTunnels } from "./tunnels.js";
import { TunnelUsageBook } from "./usage.js";

/** Interval of checking for credentials that expired or are due for another check. */
const SWEEP_MS = 1_000;
const SOURCE_CHARS = 16;
const TUNNEL_ACCESS = { endpoint: "tunnel", method: "", path: "" } as const;

export function createTunnelRelay(ports: RelayPorts, options: RelayOptions): TunnelRelay {
  return new HttpTunnelRelay(ports, options);
}

class HttpTunnelRelay implements TunnelRelay {
  readonly #ports: RelayPorts;
  readonly #options: RelayOptions;
  readonly #tunnels = new OpenTunnels();
  readonly #environments: RelayEnvironments;
  readonly #admission: TunnelAdmission;
  readonly #peers: RelayPeers;
  readonly #proxy: ProxyHandler;
  readonly #usage: TunnelUsageBook;
  /** Handshakes, by network. */
  readonly #rate: RateLimiter<string>;
  readonly #audit: TunnelAudit;
  readonly #tunnelPorts: TunnelPort[] = [];
  readonly #proxyPorts: ProxyPort[] = [];
  readonly #watching = new AbortController();
  /** Connections whose credential is being checked. */
  readonly #reauthenticating = new Set<RelayConnection>();
  #sweep: TimerHandle;
  readonly #failures: SummaryLog;
  #handshakes = 0;
  #isLeaving = false;
  #closed: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(ports: RelayPorts, options: RelayOptions) {
    const { tenancy, clock, random, logger, metrics, edge } = ports;
    this.#ports = ports;
    this.#options = options;
    this.#environments = new RelayEnvironments(tenancy, clock);
    const perMinute = options.handshakesPerMinute ?? HANDSHAKES_PER_MINUTE;
    this.#rate = new RateLimiter(clock, { perSecond: perMinute / 60, burst: perMinute }, NETWORKS_MAX);
    this.#failures = new SummaryLog(logger, clock);
    const failures = this.#failures;
    const places = { urls: options.peers ?? [], service: options.peersService };
    this.#peers = new RelayPeers(places, options.peersCa ?? (() => undefined), { clock, logger, failures });
    const source = `${options.relay}/${randomBase62(SOURCE_CHARS, random)}`;
    this.#audit = new TunnelAudit(clock);
    const onReported = ({ events = [] }: TunnelsReport): void => this.#audit.reported(events);
    this.#usage = new TunnelUsageBook({ tenancy, clock, logger, tunnels: () => this.#tunnelsReport(), onReported }, source);
    const shared = { environments: this.#environments, tunnels: this.#tunnels, failures };
    this.#admission = new TunnelAdmission({ ...shared, tenancy }, ports, options);
    this.#proxy = new ProxyHandler({ ...shared, peers: this.#peers, usage: this.#usage, clock, logger, metrics, edge });
    tenancy.watch((watching) => this.#applyChange(watching), { signal: this.#watching.signal });
    this.#sweep = clock.setTimer(SWEEP_MS, () => this.#sweepConnections());
  }

  get stats(): TunnelRelay["stats"] {
    let inFlight = 0;
    for (const connection of this.#tunnels.all()) inFlight += connection.inFlight;
    return { connections: this.#tunnels.connections, names: this.#tunnels.names, inFlight, handshakes: this.#handshakes };
  }

  async listenTunnels(options: RelayListenOptions): Promise<AddressInfo> {
    const { clock, logger, metrics } = this.#ports;
    const port = await openTunnelPort(options, {
      clock,
      logger,
      rate: this.#rate,
      throttled: () => metrics?.shaken("throttled"),
      greet: (socket) => this.#greet(socket),
    });
    this.#tunnelPorts.push(port);
    return port.address;
  }

  async listenProxy(options: RelayListenOptions): Promise<AddressInfo> {
    const port = await openProxyPort((request) => this.#proxy.take(request), options, this.#ports);
    this.#proxyPorts.push(port);
    return port.address;
  }

  report(): Promise<void> {
    return this.#usage.report();
  }

  close(signal?: AbortSignal): Promise<void> {
    this.#closed ??= this.#close(signal);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close(AbortSignal.abort());
  }

  // ── clients ────────────────────────────────────────────────────────────────────────────────────

  async #greet(socket: Socket): Promise<void> {
    const { clock, logger, metrics } = this.#ports;
    this.#handshakes++;
    const address = socket.remoteAddress;
    let welcomed: ConnectionFacts | undefined;
    let status: TunnelStatus | "failed" = "failed";
    const greeted = await greet(socket, {
      clock,
      logger,
      decide: async (hello) => {
        const decision = await this.#admission.decide(hello);
        if (decision.kind !== "later") status = decision.welcome.status;
        if (decision.kind === "welcome") welcomed = decision.facts;
        if (decision.kind === "refused" && decision.about !== undefined) {
          const { environmentId, ...about } = decision.about;
          this.#audit.add(environmentId, { kind: "refused", address, ...about });
          this.#usage.soon();
        }
        return decision;
      },
    });
    this.#handshakes--;
    metrics?.shaken(status);
    if (welcomed !== undefined) this.#tunnels.release(welcomed.environmentId, welcomed.name);
    if (greeted === undefined) return this.#notifyEmpty();
    const { session, facts } = greeted;
    const connection = new RelayConnection(session, socket, facts, {
      clock,
      logger,
      onClosed: (closed) => {
        this.#tunnels.remove(closed);
        this.#audit.add(facts.environmentId, { kind: "closed", address, ...aboutOf(facts) });
        this.#usage.soon();
        this.#notifyEmpty();
      },
    });
    this.#tunnels.add(connection);
    this.#audit.add(facts.environmentId, { kind: "opened", address, ...aboutOf(facts) });
    this.#usage.soon();
    const { environmentId, name, id, client, workerId, caller } = facts;
    logger.info({ environmentId, tunnel: name, connection: id, client, workerId, caller: caller.id }, "a tunnel is open");
    if (this.#isLeaving) connection.drain(this.#options.drainMs);
  }

  #notifyEmpty(): void {
    if (this.#tunnels.connections === 0) this.#onEmpty?.();
  }

  #tunnelsReport(): TunnelsReport {
    const connections = [...this.#tunnels.all()].map(({ facts, connectedAtMs, inFlight }) => ({
      environmentId: facts.environmentId,
      name: facts.name,
      id: facts.id,
      clientVersion: facts.client,
      workerId: facts.workerId,
      connectedAtMs,
      inFlight,
      ports: facts.ports,
    }));
    const events = this.#audit.waiting;
    return { relay: this.#options.relay, atMs: this.#ports.clock.nowMs(), connections, events };
  }

  // ── authorisation of open connections ──────────────────────────────────────────────────────────

  #applyChange(watching: TenancyChange): void {
    this.#environments.applyChange(watching);
    switch (watching.kind) {
      case "everything":
        for (const connection of this.#tunnels.all()) void this.#reauthorise(connection);
        return;
      case "environment":
      case "key":
        for (const connection of this.#tunnels.of(watching.kind === "key" ? watching.environmentId : watching.id)) {
          if (watching.kind === "environment" || connection.facts.caller.id === watching.id) void this.#reauthorise(connection);
        }
        return;
      case "member":
        for (const connection of this.#tunnels.all()) {
          if (connection.facts.caller.id === watching.id) void this.#reauthorise(connection);
        }
        return;
      default:
        return; // Kinds of later versions do not concern connections.
    }
  }

  #sweepConnections(): void {
    const { clock } = this.#ports;
    const nowMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    for (const connection of [...this.#tunnels.all()]) {
      const { expiresAtMs } = connection.facts.caller;
      if (expiresAtMs !== undefined && expiresAtMs <= nowMs) connection.drain(this.#options.drainMs);
      else if (monotonicMs - connection.authorisedAtMs >= REAUTHORISE_MS) void this.#reauthorise(connection);
    }
    this.#sweep = clock.setTimer(SWEEP_MS, () => this.#sweepConnections());
  }

  /** Never rejects. */
  async #reauthorise(connection: RelayConnection): Promise<void> {
    if (this.#reauthenticating.has(connection)) return;
    this.#reauthenticating.add(connection);
    const { clock, logger, tenancy } = this.#ports;
    const { environmentId, credential, signingPublicKey } = connection.facts;
    try {
      const startedAtMs = clock.monotonicMs();
      const environment = await this.#environments.find(bareOf(environmentId));
      if (environment === "unknown" || environment.facts.status !== "ACTIVE") {
        return connection.destroy("its environment is not active any more");
      }
      const authentication = await tenancy.authenticate(credential.reveal(), environmentId);
      if (authentication.kind !== "caller" || !mayCaller(authentication.caller, TUNNEL_ACCESS))
        return connection.destroy("its credential is not valid any more");
      connection.authorisedAtMs = startedAtMs;
      // Clients hold one signing key: they reconnect to read the new one (cloud.md §3.5).
      if (environment.facts.signingPublicKeys[0] !== signingPublicKey) connection.drain(this.#options.drainMs);
    } catch (cause) {
      const { code, message } = PerdureError.from(cause);
      const fields = { code, cause: message };
      this.#failures.warn(logger, { service: "tunnel-relay", code }, fields, "the credential of a tunnel could not be checked");
      if (clock.monotonicMs() - connection.authorisedAtMs >= STALE_MS)
        connection.destroy("its credential could not be checked for too long");
    } finally {
      this.#reauthenticating.delete(connection);
    }
  }

  // ── closing ────────────────────────────────────────────────────────────────────────────────────

  async #close(signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#ports;
    this.#isLeaving = true;
    for (const port of this.#tunnelPorts) port.stop();
    const drainMs = this.#options.drainMs ?? DRAIN_MS;
    if (signal?.aborted !== true && this.#tunnels.connections > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEmpty = resolve;
      signal?.addEventListener("abort", () => resolve(), { once: true });
      const deadline = clock.setTimer(DRAIN_NOTICE_MS + drainMs, resolve);
      // The GOAWAY makes runtimes call another relay; it is sent after clients have had time to connect there.
      const turn = clock.setTimer(DRAIN_NOTICE_MS, () => {
        for (const port of this.#proxyPorts) port.stop();
      });
      for (const connection of [...this.#tunnels.all()]) connection.drain(drainMs);
      await promise;
      for (const timer of [deadline, turn]) timer.cancel();
    }
    this.#onEmpty = undefined;
    this.#watching.abort();
    this.#sweep.cancel();
    for (const connection of [...this.#tunnels.all()]) connection.destroy("the relay is shutting down");
    await Promise.all([...this.#tunnelPorts, ...this.#proxyPorts].map((port) => port.close()));
    this.#peers.close();
    await this.#usage.close();
    this.#failures[Symbol.dispose]();
  }
}

function aboutOf({ name, id, caller }: ConnectionFacts): Pick<TunnelEvent, "name" | "id" | "caller"> {
  return { name, id, caller: { kind: caller.kind, id: caller.id } };
}
