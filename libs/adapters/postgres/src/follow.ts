/**
 * Follows changes of a database that several processes share. Each process is notified of every write, checks whether the write concerns
 * it, and reads the changed documents again; so every process sees a change moments after it was made.
 */
import { Backoff, type Clock, type Logger, PerdureError, pause, type Random } from "@perdure/base";
import { FOLLOW_AGAIN_FIRST_MS, FOLLOW_AGAIN_LONGEST_MS } from "./limits.js";
import type { PostgresMetadataStore } from "./metadata-store.js";

interface Followed {
  /** Prefix of the keys that it reads. */
  readonly prefix: string;
  /** Reads everything again; on failure the last state stays. */
  reload(): Promise<void>;
}

interface FollowPorts {
  readonly store: Pick<PostgresMetadataStore, "onChange" | "stamp">;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
}

/** Follows until it is disposed of. While the database is down the last state stays in use. */
export function followChanges({ store, clock, random, logger }: FollowPorts, all: readonly Followed[]): AsyncDisposable {
  const stamps = new Map<Followed, string>();
  const stop = new AbortController();
  let isPending = false;
  let running: Promise<void> | undefined;

  async function reloadIfChanged(one: Followed): Promise<void> {
    const stamp = await store.stamp(one.prefix); // The stamp is read first, so that a write in between is read twice rather than never.
    if (stamps.get(one) === stamp) return;
    await one.reload();
    stamps.set(one, stamp);
  }

  async function run(): Promise<void> {
    const backoff = new Backoff({ firstMs: FOLLOW_AGAIN_FIRST_MS, longestMs: FOLLOW_AGAIN_LONGEST_MS }, random);
    while (isPending && !stop.signal.aborted) {
      isPending = false;
      try {
        for (const one of all) await reloadIfChanged(one);
        backoff.reset();
      } catch (cause) {
        const error = PerdureError.from(cause);
        const pauseMs = backoff.next();
        logger.warn({ code: error.code, reason: error.detail, pauseMs }, "cannot read changes; using the last state");
        isPending = true;
        await pause(clock, pauseMs, stop.signal);
      }
    }
    running = undefined;
  }

  const unlisten = store.onChange(() => {
    isPending = true;
    running ??= run();
  });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      unlisten();
      await running;
    },
  };
}
