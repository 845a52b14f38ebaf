/**
 * Why: people change their code all the time; the server has to know what it serves now. One look a second, on this machine, at one
 * address: registered when it appears, again when it comes back or serves something else, and told when it is gone.
 */
import { LOST_PROBES_MAX } from "./limits.js";
import type { HandlerEndpoint, Probed } from "./probe.js";

export type Sight =
  /** It answers for the first time. */
  | { readonly kind: "appeared"; readonly probed: Probed }
  /** It was away, and is back as it was. */
  | { readonly kind: "reloaded"; readonly probed: Probed }
  /** It serves something else than before, away meanwhile or not. */
  | { readonly kind: "changed"; readonly probed: Probed }
  | { readonly kind: "gone"; readonly why: string };

/** What a row of looks means. Pure: it is told what was seen. */
export class Sights {
  /** `lost`: its connection broke, which a reload does as well; `away`: reported as gone. */
  #state: "never" | "there" | "lost" | "away" = "never";
  #lostProbes = 0;
  #fingerprint: string | undefined;

  get isThere(): boolean {
    return this.#state === "there";
  }

  /** Undefined when nothing is new. */
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

  /** Its connection broke although no look found it away. */
  reloaded(): void {
    if (this.#state !== "there") return;
    this.#state = "lost";
    this.#lostProbes = 0;
  }
}

/** Whether handlers are served there, signed requests only or not. */
export function serves(probed: Probed): probed is HandlerEndpoint | Extract<Probed, { kind: "signed" }> {
  return probed.kind === "found" || probed.kind === "signed";
}
