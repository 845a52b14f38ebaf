/** Limits handshakes per network: a handshake costs a TLS exchange and a request to tenancy before the client is authenticated (T26). */
import type { Clock } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import { NETWORKS_MAX } from "./limits.js";

interface HandshakeBucket {
  left: number;
  atMs: number;
}

export class HandshakeRate {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #buckets = new Map<string, HandshakeBucket>();

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Whether one more handshake may begin; counts it if so. */
  take(remoteAddress: string | undefined): boolean {
    const network = networkOf(remoteAddress);
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.get(network) ?? { left: this.#perMinute, atMs: nowMs };
    bucket.left = Math.min(this.#perMinute, bucket.left + ((nowMs - bucket.atMs) * this.#perMinute) / 60_000);
    bucket.atMs = nowMs;
    this.#buckets.delete(network);
    if (this.#buckets.size >= NETWORKS_MAX) this.#buckets.delete(this.#buckets.keys().next().value as string);
    this.#buckets.set(network, bucket);
    if (bucket.left < 1) return false;
    bucket.left--;
    return true;
  }
}
