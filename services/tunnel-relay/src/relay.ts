/**
 * The tunnel relay: customers' clients dial in on one port, runtimes ask on the other, and each request of a runtime is a stream on a
 * connection that its environment's client opened (cloud.md §2).
 */
import type { AddressInfo, Socket } from "node:net";
import { PerdureError, SummaryLog, type TimerHandle } from "@perdure/base";
import { bareOf, mayCaller, randomBase62, type TenancyNews, type TunnelEvent, type TunnelsReport } from "@perdure/cloud";
import type { TunnelStatus } from "@perdure/tunnel";
import { Admission } from "./admission.js";
import { TunnelAudit } from "./audit.js";
import { type ConnectionFacts, TunnelConnection } from "./connection.js";
import { Environments } from "./environments.js";
import { greet } from "./handshake.js";
import { HandshakeRate } from "./handshake-rate.js";
import { DRAIN_MS, DRAIN_NOTICE_MS, HANDSHAKES_PER_MINUTE, REAUTHORISE_MS, STALE_MS } from "./limits.js";
import { Peers } from "./peers.js";
import type { RelayListenOptions, RelayOptions, RelayPorts, TunnelRelay } from "./ports.js";
import { ProxyDoor } from "./proxy.js";
import { openProxyPort, type ProxyPort } from "./proxy-port.js";
import { openTunnelPort, type TunnelPort } from "./tunnel-port.js";
import { Tunnels } from "./tunnels.js";
import { UsageBook } from "./usage.js";

/** How often credentials that ran out, or were not asked about for long, are looked for. */
const SWEEP_MS = 1_000;
const SOURCE_CHARS = 16;
const KNOCK = { door: "tunnel", method: "", path: "" } as const;

export function createTunnelRelay(ports: RelayPorts, options: RelayOptions): TunnelRelay {
  return new Relay(ports, options);
}

class Relay implements TunnelRelay {
  readonly #ports: RelayPorts;
  readonly #options: RelayOptions;
  readonly #tunnels = new Tunnels();
  readonly #environments: Environments;
  readonly #admission: Admission;
  readonly #peers: Peers;
  readonly #proxy: ProxyDoor;
  readonly #usage: UsageBook;
  readonly #rate: HandshakeRate;
  readonly #audit: TunnelAudit;
  readonly #tunnelPorts: TunnelPort[] = [];
  readonly #proxyPorts: ProxyPort[] = [];
  readonly #news = new AbortController();
  /** Connections whose credential is being asked about. */
  readonly #asking = new Set<TunnelConnection>();
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
    this.#environments = new Environments(tenancy, clock);
    this.#rate = new HandshakeRate(clock, options.handshakesPerMinute ?? HANDSHAKES_PER_MINUTE);
    this.#failures = new SummaryLog(logger, clock);
    const failures = this.#failures;
    this.#peers = new Peers(options.peers ?? [], options.peersCa ?? (() => undefined), { clock, logger, failures });
    const source = `${options.relay}/${randomBase62(SOURCE_CHARS, random)}`;
    this.#audit = new TunnelAudit(clock);
    const taken = ({ events = [] }: TunnelsReport): void => this.#audit.reported(events);
    this.#usage = new UsageBook({ tenancy, clock, logger, tunnels: () => this.#tunnelsReport(), taken }, source);
    const shared = { environments: this.#environments, tunnels: this.#tunnels, failures };
    this.#admission = new Admission({ ...shared, tenancy }, ports, options);
    this.#proxy = new ProxyDoor({ ...shared, peers: this.#peers, usage: this.#usage, clock, logger, metrics, edge });
    tenancy.watch((news) => this.#heard(news), { signal: this.#news.signal });
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
    const port = await openProxyPort((visit) => this.#proxy.take(visit), options, this.#ports);
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
      judge: async (hello) => {
        const verdict = await this.#admission.judge(hello);
        if (verdict.kind !== "later") status = verdict.welcome.status;
        if (verdict.kind === "welcome") welcomed = verdict.facts;
        if (verdict.kind === "refused" && verdict.about !== undefined) {
          const { environmentId, ...about } = verdict.about;
          this.#audit.add(environmentId, { kind: "refused", address, ...about });
          this.#usage.soon();
        }
        return verdict;
      },
    });
    this.#handshakes--;
    metrics?.shaken(status);
    if (welcomed !== undefined) this.#tunnels.release(welcomed.environmentId, welcomed.name);
    if (greeted === undefined) return this.#tellEmpty();
    const { session, facts } = greeted;
    const connection = new TunnelConnection(session, socket, facts, {
      clock,
      logger,
      onClosed: (closed) => {
        this.#tunnels.remove(closed);
        this.#audit.add(facts.environmentId, { kind: "closed", address, ...aboutOf(facts) });
        this.#usage.soon();
        this.#tellEmpty();
      },
    });
    this.#tunnels.add(connection);
    this.#audit.add(facts.environmentId, { kind: "opened", address, ...aboutOf(facts) });
    this.#usage.soon();
    const { environmentId, name, id, client, workerId, caller } = facts;
    logger.info({ environmentId, tunnel: name, connection: id, client, workerId, caller: caller.id }, "a tunnel is open");
    if (this.#isLeaving) connection.drain(this.#options.drainMs);
  }

  #tellEmpty(): void {
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

  // ── who may stay ───────────────────────────────────────────────────────────────────────────────

  #heard(news: TenancyNews): void {
    this.#environments.heard(news);
    switch (news.kind) {
      case "everything":
        for (const connection of this.#tunnels.all()) void this.#reauthorise(connection);
        return;
      case "environment":
      case "key":
        for (const connection of this.#tunnels.of(news.kind === "key" ? news.environmentId : news.id)) {
          if (news.kind === "environment" || connection.facts.caller.id === news.id) void this.#reauthorise(connection);
        }
        return;
      case "member":
        for (const connection of this.#tunnels.all()) {
          if (connection.facts.caller.id === news.id) void this.#reauthorise(connection);
        }
        return;
      default:
        return; // News of a later version are not about what is here.
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
  async #reauthorise(connection: TunnelConnection): Promise<void> {
    if (this.#asking.has(connection)) return;
    this.#asking.add(connection);
    const { clock, logger, tenancy } = this.#ports;
    const { environmentId, credential, signingPublicKey } = connection.facts;
    try {
      const startedAtMs = clock.monotonicMs();
      const environment = await this.#environments.find(bareOf(environmentId));
      if (environment === "nobody" || environment.facts.status !== "ACTIVE") {
        return connection.destroy("its environment is not active any more");
      }
      const found = await tenancy.authenticate(credential.reveal(), environmentId);
      if (found.kind !== "caller" || !mayCaller(found.caller, KNOCK))
        return connection.destroy("its credential opens it no more");
      connection.authorisedAtMs = startedAtMs;
      // Clients know one key: they must read again which (cloud.md §3.5).
      if (environment.facts.signingPublicKeys[0] !== signingPublicKey) connection.drain(this.#options.drainMs);
    } catch (cause) {
      const { code, message } = PerdureError.from(cause);
      const fields = { code, cause: message };
      this.#failures.warn(logger, { service: "tunnel-relay", code }, fields, "a tunnel's credential cannot be asked about");
      if (clock.monotonicMs() - connection.authorisedAtMs >= STALE_MS) connection.destroy("nobody could say whether it may stay");
    } finally {
      this.#asking.delete(connection);
    }
  }

  // ── the end ────────────────────────────────────────────────────────────────────────────────────

  async #close(signal: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#ports;
    this.#isLeaving = true;
    for (const port of this.#tunnelPorts) port.stop();
    const drainMs = this.#options.drainMs ?? DRAIN_MS;
    if (signal?.aborted !== true && this.#tunnels.connections > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEmpty = resolve;
      signal?.addEventListener("abort", () => resolve(), { once: true });
      const late = clock.setTimer(DRAIN_NOTICE_MS + drainMs, resolve);
      // Runtimes learn from our GOAWAY to ask another relay, once clients have had the time to go there.
      const turn = clock.setTimer(DRAIN_NOTICE_MS, () => {
        for (const port of this.#proxyPorts) port.stop();
      });
      for (const connection of [...this.#tunnels.all()]) connection.drain(drainMs);
      await promise;
      for (const timer of [late, turn]) timer.cancel();
    }
    this.#onEmpty = undefined;
    this.#news.abort();
    this.#sweep.cancel();
    for (const connection of [...this.#tunnels.all()]) connection.destroy("the relay ends");
    await Promise.all([...this.#tunnelPorts, ...this.#proxyPorts].map((port) => port.close()));
    this.#peers.close();
    await this.#usage.close();
    this.#failures[Symbol.dispose]();
  }
}

function aboutOf({ name, id, caller }: ConnectionFacts): Pick<TunnelEvent, "name" | "id" | "caller"> {
  return { name, id, caller: { kind: caller.kind, id: caller.id } };
}
