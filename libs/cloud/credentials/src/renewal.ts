/**
 * Seals data again after a new key was added, so that the old key can be replaced. Only existing data is sealed again: once the old line
 * is gone from the file of keys, no backup reveals what was deleted before (cloud.md §7, T29). The leader does this at its start; hashes
 * of API keys follow when a key is used, since only then its text is available.
 */
import { type Logger, PerdureError, type TimerHandle } from "@perdure/base";
import { RENEWAL_AGAIN_MS } from "./limits.js";
import type { CredentialPorts } from "./ports.js";

/** Seals again what older keys sealed. Returns how many values that were. */
export async function renewSeals({ database, ring, random }: CredentialPorts): Promise<number> {
  const { environments, tokenKeys } = database.tables;
  let count = 0;
  for (const { id, dataKey } of await environments.living()) {
    if (dataKey === undefined || ring.isNewest(dataKey)) continue;
    const context = `data key of ${id}`;
    // Requests a new generation of the runtime: the token that it sends to relays comes from the ring as well.
    if (await environments.resealed(id, dataKey, ring.seal(ring.open(dataKey, context), context, random))) count++;
  }
  for (const { kid, privateKey } of await tokenKeys.all()) {
    if (ring.isNewest(privateKey)) continue;
    const context = `token key ${kid}`;
    if (await tokenKeys.resealed(kid, privateKey, ring.seal(ring.open(privateKey, context), context, random))) count++;
  }
  return count;
}

/** Runs once; runs again only after a failure. */
export class SealRenewal implements AsyncDisposable {
  readonly #ports: CredentialPorts;
  readonly #logger: Logger;
  #timer: TimerHandle | undefined;
  #running: Promise<void>;
  #isClosed = false;

  constructor(ports: CredentialPorts) {
    this.#ports = ports;
    this.#logger = ports.logger;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      const renewed = await renewSeals(this.#ports);
      const { newest } = this.#ports.ring;
      const waiting = await this.#ports.database.tables.apiKeys.countOlder(newest);
      if (renewed > 0 || waiting > 0) {
        this.#logger.info({ newest, renewed, apiKeysOfOlder: waiting }, "sealed all secrets with the newest key");
      }
    } catch (cause) {
      const { code, detail } = PerdureError.from(cause);
      this.#logger.warn({ code, reason: detail }, "failed to seal secrets with the newest key; retrying");
      if (this.#isClosed) return;
      this.#timer = this.#ports.clock.setTimer(RENEWAL_AGAIN_MS, () => {
        this.#running = this.#run();
      });
    }
  }
}
