/**
 * Derives events of a service from one poll a second of its address: it is registered when it appears, again when it comes back or serves
 * other handlers, and reported when it is gone.
 */
import { LOST_PROBES_MAX } from "./limits.js";
import type { HandlerEndpoint, Probed } from "./probe.js";

export type Sight =
  /** The service answers for the first time. */
  | { readonly kind: "appeared"; readonly probed: Probed }
  /** The service was unreachable, and is back with the same handlers. */
  | { readonly kind: "reloaded"; readonly probed: Probed }
  /** The service has other handlers than before, whether or not it was unreachable meanwhile. */
  | { readonly kind: "changed"; readonly probed: Probed }
  | { readonly kind: "gone"; readonly why: string };

/** The state machine over the results of polls. Pure: results are passed in. */
export class Sights {
  /** `lost`: its connection broke, which also happens in a reload; `away`: reported as gone. */
  #state: "never" | "there" | "lost" | "away" = "never";
  #lostProbes = 0;
  #fingerprint: string | undefined;

  get isThere(): boolean {
    return this.#state === "there";
  }

  /** Undefined when nothing has changed. */
  next(probed: Probed): Sight | undefined {
    if (!serves(probed)) {
      const isGone = this.#state === "there" || (this.#state === "lost" && ++this.#lostProbes >= LOST_PROBES_MAX);
      if (!isGone) return undefined;
      this.#state = "away";
      return { kind: "gone", why: probed.kind === "other" ? probed.why : "no program listens there" };
    }
    const before = this.#state;
    const fingerprint = probed.kind === "found" ? probed.fingerprint : undefined;
    const isOther = fingerprint !== this.#fingerprint;
    this.#state = "there";
    this.#fingerprint = fingerprint;
    if (before === "never") return { kind: "appeared", probed };
    if (isOther) return { kind: "changed", probed };
    return before !== "there" ? { kind: "reloaded", probed } : undefined;
  }

  /** Called when the service's connection broke although every poll succeeded. */
  reloaded(): void {
    if (this.#state !== "there") return;
    this.#state = "lost";
    this.#lostProbes = 0;
  }
}

/** Whether the address serves handlers, to all or only to signed requests. */
export function serves(probed: Probed): probed is HandlerEndpoint | Extract<Probed, { kind: "signed" }> {
  return probed.kind === "found" || probed.kind === "signed";
}
