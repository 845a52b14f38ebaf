/**
 * The tunnel client: connects to relays and serves the allowed destinations until it is closed. When a relay drains, the client opens
 * another connection before the old one ends; failed connections are retried (cloud.md §2.1, §2.9).
 */
import { Backoff, causeMessage, PerdureError, pause, present } from "@perdure/base";
import type { TunnelHello } from "../handshake.js";
import { IdentityVerifier, parsePublicKey } from "../identity.js";
import { BACKOFF_BOUNDS, BACKOFF_RESET_MS, DRAIN_MS, RESOLVE_EVERY_MS, RESOLVE_RETRY_BOUNDS, SERVERS_MAX } from "../limits.js";
import { isTunnelName } from "../name.js";
import { ClientConnection } from "./connection.js";
import type { OnTunnelEvent } from "./events.js";
import { LocalCalls } from "./local-calls.js";
import { Locals } from "./locals.js";
import type { ClientTunnel, TunnelEnding, TunnelOptions, TunnelReady } from "./options.js";
import { parseServer, type RelayServer, resolveServers } from "./servers.js";

/** Starts connecting at once. Throws OPS0001 when options are not valid. `onEvent` must not throw. */
export function openTunnel(options: TunnelOptions & { readonly onEvent?: OnTunnelEvent | undefined }): ClientTunnel {
  return new OpenTunnel(options);
}

/** One relay and the task that keeps a connection to it open. */
interface RelaySlot {
  readonly stop: AbortController;
  readonly running: Promise<void>;
}

const ID_BYTES = 10;

class OpenTunnel implements ClientTunnel {
  readonly #options: TunnelOptions;
  readonly #onEvent: OnTunnelEvent;
  readonly #locals: Locals;
  readonly #calls: LocalCalls;
  readonly #verifier: IdentityVerifier;
  readonly #slots = new Map<string, RelaySlot>();
  /** All connections that are not over, including those that drain. */
  readonly #connections = new Set<ClientConnection>();
  readonly #ready = Promise.withResolvers<TunnelReady | undefined>();
  readonly #ended = Promise.withResolvers<TunnelEnding>();
  readonly #stop = new AbortController();
  #wasReady = false;
  #closing: Promise<void> | undefined;

  constructor(options: TunnelOptions & { readonly onEvent?: OnTunnelEvent | undefined }) {
    const { name, servers, srv, signingPublicKeys, locals, allow, clock } = options;
    if (!isTunnelName(name)) throw new PerdureError("OPS0001", `'${name}' cannot be the name of a tunnel`);
    if ((servers === undefined) === (srv === undefined))
      throw new PerdureError("OPS0001", "name either tunnel servers or their SRV record");
    const unreadable = signingPublicKeys.find((key) => parsePublicKey(key) === undefined);
    if (unreadable !== undefined || signingPublicKeys.length === 0) {
      throw new PerdureError("OPS0001", `'${unreadable ?? ""}' is not a public key of an environment (publickeyv1_…)`);
    }
    this.#options = options;
    this.#onEvent = options.onEvent ?? (() => undefined);
    this.#locals = new Locals(locals, allow ?? []);
    this.#calls = new LocalCalls(clock);
    this.#verifier = new IdentityVerifier(signingPublicKeys, clock);
    if (servers !== undefined) this.#reconcile(servers.slice(0, SERVERS_MAX).map(parseServer));
    else void this.#resolveAgainAndAgain(present(srv));
  }

  get ready(): Promise<TunnelReady | undefined> {
    return this.#ready.promise;
  }

  get ended(): Promise<TunnelEnding> {
    return this.#ended.promise;
  }

  get connections(): number {
    let count = 0;
    for (const connection of this.#connections) if (connection.isServing) count++;
    return count;
  }

  get inFlight(): number {
    let count = 0;
    for (const connection of this.#connections) count += connection.inFlight;
    return count;
  }

  close(): Promise<void> {
    return this.#close({ kind: "closed" });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #close(ending: TunnelEnding): Promise<void> {
    this.#closing ??= this.#finish(ending);
    return this.#closing;
  }

  async #finish(ending: TunnelEnding): Promise<void> {
    this.#stop.abort();
    const drainMs = this.#options.drainMs ?? DRAIN_MS;
    await Promise.all([...this.#connections].map((connection) => connection.leave(drainMs)));
    for (const slot of this.#slots.values()) slot.stop.abort();
    await Promise.all([...this.#slots.values()].map(({ running }) => running));
    await this.#calls[Symbol.asyncDispose]();
    this.#ready.resolve(undefined);
    this.#ended.resolve(ending);
  }

  // ── list of relays ─────────────────────────────────────────────────────────────────────────────

  /** Never rejects. A failed look-up leaves the list of relays unchanged. */
  async #resolveAgainAndAgain(srv: string): Promise<void> {
    const { resolveSrv, random } = this.#options;
    const backoff = new Backoff(RESOLVE_RETRY_BOUNDS, random);
    while (!this.#stop.signal.aborted) {
      let waitMs = RESOLVE_EVERY_MS;
      try {
        const records = await resolveServers(srv, resolveSrv);
        if (records.length === 0) throw new Error("there are no records");
        backoff.reset();
        if (!this.#stop.signal.aborted) this.#reconcile(records);
      } catch (cause) {
        const reason = causeMessage(cause);
        this.#onEvent({ kind: "resolveFailed", srv, reason });
        waitMs = backoff.next();
      }
      await pause(this.#options.clock, waitMs, this.#stop.signal);
    }
  }

  #reconcile(servers: readonly RelayServer[]): void {
    const desiredLabels = new Set(servers.map(({ label }) => label));
    for (const [label, slot] of this.#slots) {
      if (desiredLabels.has(label)) continue;
      slot.stop.abort();
      this.#slots.delete(label);
    }
    for (const server of servers) {
      if (this.#slots.has(server.label)) continue;
      const stop = new AbortController();
      this.#slots.set(server.label, { stop, running: this.#keepOpen(server, stop.signal) });
    }
  }

  // ── one relay ──────────────────────────────────────────────────────────────────────────────────

  /** Never rejects. */
  async #keepOpen(server: RelayServer, gone: AbortSignal): Promise<void> {
    const backoff = new Backoff(BACKOFF_BOUNDS, this.#options.random);
    const stop = AbortSignal.any([gone, this.#stop.signal]);
    while (!stop.aborted) {
      const connection = this.#connect(server);
      const leave = (): void => void connection.leave(this.#options.drainMs ?? DRAIN_MS);
      gone.addEventListener("abort", leave, { once: true });
      const outcome = await connection.run();
      if (outcome.kind !== "drained") gone.removeEventListener("abort", leave);
      if (stop.aborted) return;
      if (outcome.kind === "refused" && (outcome.status !== "too-many-tunnels" || !this.#wasReady)) {
        this.#onEvent({ kind: "refused", status: outcome.status });
        void this.#close({ kind: "refused", status: outcome.status });
        return;
      }
      if (outcome.kind === "drained") {
        this.#onEvent({ kind: "draining", server: server.label });
        continue;
      }
      if (outcome.kind === "lost" && outcome.servedMs >= BACKOFF_RESET_MS) backoff.reset();
      const retryInMs = backoff.next();
      const reason = outcome.kind === "lost" ? outcome.reason : outcome.status;
      this.#onEvent({ kind: "disconnected", server: server.label, reason, retryInMs });
      await pause(this.#options.clock, retryInMs, stop);
    }
  }

  #connect(server: RelayServer): ClientConnection {
    const { ca, clock } = this.#options;
    const connectionId = this.#newId();
    this.#onEvent({ kind: "connecting", server: server.label });
    const connection = new ClientConnection({
      server,
      ca,
      clock,
      verifier: this.#verifier,
      locals: this.#locals,
      calls: this.#calls,
      onEvent: this.#onEvent,
      hello: () => this.#hello(connectionId),
      onServing: ({ name, proxyUrl }) => {
        this.#wasReady = true;
        this.#onEvent({ kind: "connected", server: server.label, connectionId, name, proxyUrl });
        this.#ready.resolve({ name, proxyUrl });
      },
      onClosed: (closed) => this.#connections.delete(closed),
    });
    this.#connections.add(connection);
    return connection;
  }

  async #hello(connectionId: string): Promise<TunnelHello> {
    const { environmentId, name, credential, clientVersion, workerId } = this.#options;
    return {
      credential: await credential(),
      environmentId,
      name,
      supportsDrain: true,
      supportsClientDrain: true,
      workerId,
      connectionId,
      client: `perdure/${clientVersion}`,
      ports: this.#locals.ports,
    };
  }

  #newId(): string {
    const bytes = new Uint8Array(ID_BYTES);
    this.#options.random.bytes(bytes);
    return Buffer.from(bytes).toString("hex");
  }
}
