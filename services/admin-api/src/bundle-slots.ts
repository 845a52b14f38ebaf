/** Bounds the bundles that are made at the same time: each has a journal, its redacted copy and their JSON in memory. */
import { RouteError } from "./http/errors.js";
import { BUNDLE_RETRY_SECONDS, BUNDLES_MAX } from "./limits.js";

export class BundleSlots {
  #running = 0;

  /** Rejects with `RouteError` 429 when `BUNDLES_MAX` are made already. */
  async run<T>(make: () => Promise<T>): Promise<T> {
    if (this.#running >= BUNDLES_MAX) {
      const retry = { "retry-after": String(BUNDLE_RETRY_SECONDS) };
      throw new RouteError(429, `${BUNDLES_MAX} bundles are made at this moment; try again`, "OPS0014", retry);
    }
    this.#running++;
    try {
      return await make();
    } finally {
      this.#running--;
    }
  }
}
