/**
 * Other relays. A runtime may call any relay while the client is connected to another one, which then gets the request, once (cloud.md
 * §2.6, 7).
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import { BoundedCache, type Clock, handleErrors, type Logger, type SummaryLog } from "@perdure/base";
import { type ProxyPath, RUNTIME_TOKEN_HEADER } from "@perdure/tunnel";
import { PEER_HOLDS_MS, PEER_NAMES_MAX, PEER_QUESTION_MS, SESSION_MEMORY_MEGABYTES, STREAM_WINDOW_BYTES } from "./limits.js";

/** PEM certificates to trust at peers now; undefined: the system's. */
type PeersCa = () => string | undefined;

class RelayPeer {
  readonly origin: string;
  readonly #ca: PeersCa;
  #session: ClientHttp2Session | undefined;

  constructor(origin: string, ca: PeersCa) {
    this.origin = origin;
    this.#ca = ca;
  }

  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream {
    const stream = this.#open().request(headers, { endStream });
    handleErrors(stream); // `close` follows.
    return stream;
  }

  close(): void {
    this.#session?.destroy();
  }

  #open(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const ca = this.#ca();
    const session = connect(this.origin, {
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: SESSION_MEMORY_MEGABYTES,
      ...(ca === undefined ? {} : { ca }),
    });
    handleErrors(session); // Its streams receive the error too.
    this.#session = session;
    session.on("goaway", () => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }
}

interface PeersPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failures: SummaryLog;
}

export class RelayPeers {
  readonly #peers: readonly RelayPeer[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #failures: SummaryLog;
  /** Relays by environment and name of the tunnel. */
  readonly #holders: BoundedCache<string, RelayPeer>;

  constructor(origins: readonly string[], ca: PeersCa, { clock, logger, failures }: PeersPorts) {
    this.#peers = origins.map((origin) => new RelayPeer(origin, ca));
    this.#clock = clock;
    this.#logger = logger;
    this.#failures = failures;
    this.#holders = new BoundedCache({ entriesMax: PEER_NAMES_MAX, expiry: { clock, ttlMs: PEER_HOLDS_MS } });
  }

  get isSome(): boolean {
    return this.#peers.length > 0;
  }

  /**
   * The peer that has a connection with this name; undefined when none answers that it has. Never rejects. `token` is the calling
   * runtime's.
   */
  async whoHolds(place: ProxyPath, token: string): Promise<RelayPeer | undefined> {
    const key = `${place.bare}/${place.name}`;
    const cached = this.#holders.get(key);
    if (cached !== undefined) return cached;
    const answers = await Promise.all(this.#peers.map((peer) => this.#holds(peer, key, token)));
    const peer = this.#peers.find((_peer, i) => answers[i]);
    if (peer === undefined) this.#holders.delete(key);
    else this.#holders.set(key, peer);
    return peer;
  }

  evict({ bare, name }: ProxyPath): void {
    this.#holders.delete(`${bare}/${name}`);
  }

  close(): void {
    for (const peer of this.#peers) peer.close();
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
