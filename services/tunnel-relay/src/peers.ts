/**
 * Other relays. A runtime may call any relay while the client is connected to another one, which then gets the request, once (cloud.md
 * §2.6, 7).
 */
import { lookup } from "node:dns/promises";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import { isIP } from "node:net";
import { BoundedCache, type Clock, causeMessage, handleErrors, type Logger, type SummaryLog } from "@perdure/base";
import { type ProxyPath, RUNTIME_TOKEN_HEADER } from "@perdure/tunnel";
import {
  PEER_HOLDS_MS,
  PEER_NAMES_MAX,
  PEER_QUESTION_MS,
  PEERS_LOOKUP_MS,
  SESSION_MEMORY_MEGABYTES,
  STREAM_WINDOW_BYTES,
} from "./limits.js";

/** PEM certificates to trust at peers now; undefined: the system's. */
type PeersCa = () => string | undefined;

class RelayPeer {
  readonly origin: string;
  readonly #ca: PeersCa;
  /** Name in its certificate; undefined: the host of the origin. */
  readonly #serverName: string | undefined;
  #session: ClientHttp2Session | undefined;

  constructor(origin: string, ca: PeersCa, serverName?: string) {
    this.origin = origin;
    this.#ca = ca;
    this.#serverName = serverName;
  }

  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream {
    const stream = this.#open().request(headers, { endStream });
    handleErrors(stream); // `close` follows.
    return stream;
  }

  close(): void {
    this.#session?.destroy();
  }

  /** Requests in progress end by themselves. */
  leave(): void {
    this.#session?.close();
  }

  #open(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const ca = this.#ca();
    const session = connect(this.origin, {
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
      ...(ca === undefined ? {} : { ca }),
      ...(this.#serverName === undefined ? {} : { servername: this.#serverName }),
    });
    handleErrors(session); // Its streams receive the error too.
    this.#session = session;
    session.on("goaway", () => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }
}

/** Where other relays are. */
interface PeerPlaces {
  /** Origins of relays. */
  readonly urls: readonly string[];
  /** Origin whose host name has an address for each relay. */
  readonly service: string | undefined;
}

interface PeersPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failures: SummaryLog;
  /** Addresses of a host name; the system's resolver outside tests. */
  readonly addressesOf?: (host: string) => Promise<readonly string[]>;
}

const addressesBySystem = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);

export class RelayPeers {
  /** Relays that are named one by one. */
  readonly #fixed: readonly RelayPeer[];
  readonly #service: URL | undefined;
  /** Relays behind the name of the service, by address. */
  readonly #resolved = new Map<string, RelayPeer>();
  #resolvedAtMs = Number.NEGATIVE_INFINITY;
  #resolving: Promise<void> | undefined;
  readonly #ca: PeersCa;
  readonly #addressesOf: (host: string) => Promise<readonly string[]>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #failures: SummaryLog;
  /** Relays by environment and name of the tunnel. */
  readonly #holders: BoundedCache<string, RelayPeer>;

  constructor(
    { urls, service }: PeerPlaces,
    ca: PeersCa,
    { clock, logger, failures, addressesOf = addressesBySystem }: PeersPorts,
  ) {
    this.#fixed = urls.map((origin) => new RelayPeer(origin, ca));
    this.#service = service === undefined ? undefined : new URL(service);
    this.#ca = ca;
    this.#addressesOf = addressesOf;
    this.#clock = clock;
    this.#logger = logger;
    this.#failures = failures;
    this.#holders = new BoundedCache({ entriesMax: PEER_NAMES_MAX, expiry: { clock, ttlMs: PEER_HOLDS_MS } });
  }

  get isSome(): boolean {
    return this.#fixed.length > 0 || this.#service !== undefined;
  }

  /**
   * The peer that has a connection with this name; undefined when none answers that it has. Never rejects. `token` is the calling
   * runtime's.
   */
  async whoHolds(place: ProxyPath, token: string): Promise<RelayPeer | undefined> {
    const key = `${place.bare}/${place.name}`;
    const cached = this.#holders.get(key);
    if (cached !== undefined) return cached;
    const peers = await this.#all();
    const answers = await Promise.all(peers.map((one) => this.#holds(one, key, token)));
    const peer = peers.find((_peer, i) => answers[i]);
    if (peer === undefined) this.#holders.delete(key);
    else this.#holders.set(key, peer);
    return peer;
  }

  evict({ bare, name }: ProxyPath): void {
    this.#holders.delete(`${bare}/${name}`);
  }

  close(): void {
    for (const peer of [...this.#fixed, ...this.#resolved.values()]) peer.close();
  }

  async #all(): Promise<readonly RelayPeer[]> {
    if (this.#service !== undefined && this.#clock.monotonicMs() - this.#resolvedAtMs >= PEERS_LOOKUP_MS) {
      this.#resolving ??= this.#resolve(this.#service).finally(() => {
        this.#resolving = undefined;
      });
      await this.#resolving;
    }
    return [...this.#fixed, ...this.#resolved.values()];
  }

  /** Never rejects: while the name cannot be resolved the relays of the last time count. */
  async #resolve({ protocol, hostname, port }: URL): Promise<void> {
    const host = hostname.replace(/^\[|\]$/g, "");
    try {
      const addresses = new Set(isIP(host) === 0 ? await this.#addressesOf(host) : [host]);
      for (const [address, peer] of this.#resolved) {
        if (addresses.has(address)) continue;
        this.#resolved.delete(address);
        peer.leave();
      }
      for (const address of addresses) {
        if (this.#resolved.has(address)) continue;
        const origin = `${protocol}//${isIP(address) === 6 ? `[${address}]` : address}${port === "" ? "" : `:${port}`}`;
        this.#resolved.set(address, new RelayPeer(origin, this.#ca, isIP(host) === 0 ? host : undefined));
      }
      this.#resolvedAtMs = this.#clock.monotonicMs();
    } catch (cause) {
      const fields = { host, cause: causeMessage(cause) };
      this.#failures.warn(this.#logger, { service: "tunnel-relay", code: host }, fields, "relays cannot be looked up");
    }
  }

  #holds(peer: RelayPeer, key: string, token: string): Promise<boolean> {
    return new Promise((resolve) => {
      const headers = { ":method": "HEAD", ":path": `/_/held/${key}`, [RUNTIME_TOKEN_HEADER]: token };
      const stream = peer.request(headers, true);
      handleErrors(stream, (cause) => {
        const fields = { peer: peer.origin, cause: cause.message };
        this.#failures.warn(this.#logger, { service: "tunnel-relay", code: peer.origin }, fields, "a relay does not answer");
      });
      const timeout = this.#clock.setTimer(PEER_QUESTION_MS, () => stream.close());
      stream.on("response", (answer) => resolve(answer[":status"] === 204));
      stream.on("close", () => {
        timeout.cancel();
        resolve(false);
      });
      stream.resume();
    });
  }
}
