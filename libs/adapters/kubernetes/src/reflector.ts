/**
 * Keeps a local copy of all objects of a kind, because a controller decides on the current state of the cluster, not on single changes. It
 * lists in pages and then watches from there on. When the API server no longer has that resource version, it lists again and derives the
 * deletions that it missed. It never stops because of a response of the API server (kubernetes.md D5), as the informer of the client
 * library does (decision 0049).
 */
import { backoffMs, type Clock, type Logger, pause, type Random, unreachable } from "@perdure/base";
import { isExpired, KubernetesApiError } from "./api-error.js";
import type { KubernetesClient } from "./client.js";
import { jsonLines } from "./json-lines.js";
import {
  RELIST_FIRST_MS,
  RELIST_LONGEST_MS,
  RESYNC_MS,
  RESYNC_SPREAD,
  WATCH_IDLE_MS_MAX,
  WATCH_SECONDS,
  WATCH_SHORT_MS,
  WATCH_WELL_MS,
} from "./limits.js";
import type { MetadataOnly, Resource } from "./resource.js";
import { type WatchEvent, watchEventOf } from "./watch-event.js";

interface ReflectorOptions<T extends MetadataOnly> {
  readonly resource: Resource;
  /**
   * Checks the fields that readers of the copy use. An object for which it returns undefined is logged, and the copy keeps the state before,
   * so that one object does not hold up the others. Without it the fields are those that the API server validated by its own schema.
   */
  readonly parse?: (object: MetadataOnly) => T | undefined;
  readonly namespace?: string;
  readonly labels?: string;
  readonly metadataOnly?: boolean;
  /** Milliseconds without any event after which a watch counts as broken. */
  readonly idleMs?: number;
  /** Milliseconds between two tellings of everything; ± a tenth. */
  readonly resyncMs?: number;
}

export interface ReflectorPorts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Why a watch ended. */
export type WatchEnd = "expired" | "timeout" | "error" | "closed";

/** `deleted` carries the last state in the copy. `resync`: nothing changed, but the object is due for a check. */
export type ChangeListener<T> = (object: T, change: "added" | "changed" | "deleted" | "resync") => void;

/** Access to a copy for code that needs no more of its objects than `T`. */
export interface ObjectCache<T extends MetadataOnly = MetadataOnly> {
  readonly resource: Resource;
  readonly synced: Promise<void>;
  readonly isSynced: boolean;
  readonly size: number;
  get(name: string, namespace?: string): T | undefined;
  values(): Iterable<T>;
  onChange(listener: ChangeListener<T>): void;
  run(signal: AbortSignal): Promise<void>;
}

export class Reflector<T extends MetadataOnly> implements ObjectCache<T> {
  readonly resource: Resource;
  readonly #options: ReflectorOptions<T>;
  readonly #ports: ReflectorPorts;
  readonly #objects = new Map<string, T>();
  readonly #listeners: ChangeListener<T>[] = [];
  readonly #ends: ((end: WatchEnd) => void)[] = [];
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  #resourceVersion = "";

  constructor(options: ReflectorOptions<T>, ports: ReflectorPorts) {
    this.resource = options.resource;
    this.#options = options;
    this.#ports = ports;
  }

  /** Resolves when the first list is complete. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#objects.get(keyOf(name, namespace));
  }

  values(): Iterable<T> {
    return this.#objects.values();
  }

  onChange(listener: ChangeListener<T>): void {
    this.#listeners.push(listener);
  }

  onWatchEnd(listener: (end: WatchEnd) => void): void {
    this.#ends.push(listener);
  }

  /** Works until the signal fires; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const resync = this.#resyncAgain(signal);
    let failures = 0;
    while (!signal.aborted) {
      const startedAt = this.#ports.clock.monotonicMs();
      try {
        if (this.#resourceVersion === "") await this.#relist(signal);
        await this.#watch(signal);
        this.#notifyEnd("timeout");
        const lastedMs = this.#ports.clock.monotonicMs() - startedAt;
        failures = lastedMs < WATCH_SHORT_MS ? failures + 1 : 0;
      } catch (cause) {
        if (signal.aborted) break;
        // A resource version that the API server refuses may be reused later, so the copy is listed again from the start.
        if (cause instanceof KubernetesApiError) this.#resourceVersion = "";
        const wasWell = this.#ports.clock.monotonicMs() - startedAt > WATCH_WELL_MS;
        failures = wasWell ? 1 : failures + 1;
        this.#notifyEnd(isExpired(cause) ? "expired" : cause instanceof KubernetesApiError ? "error" : "closed");
        this.#ports.logger.debug({ kind: this.resource.kind, cause, failures }, "watching failed; trying again");
        // After the first expiry the list is repeated without a pause.
        if (isExpired(cause) && failures === 1) continue;
      }
      if (failures > 0) await this.#pause(failures, signal);
    }
    resync();
  }

  async #relist(signal: AbortSignal): Promise<void> {
    const { resource, namespace, labels, metadataOnly } = this.#options;
    const { items, resourceVersion } = await this.#ports.client.list<MetadataOnly>(resource, {
      signal,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(metadataOnly === undefined ? {} : { metadataOnly }),
    });
    const gone = new Set(this.#objects.keys());
    for (const object of items) {
      gone.delete(keyOf(object.metadata.name, object.metadata.namespace));
      this.#put(object);
    }
    for (const key of gone) this.#remove(key);
    this.#resourceVersion = resourceVersion;
    if (!this.#isSynced) {
      this.#isSynced = true;
      this.#synced.resolve();
    }
  }

  /** Resolves when the API server ends the watch without an error. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { resource, namespace, labels, metadataOnly, idleMs = WATCH_IDLE_MS_MAX } = this.#options;
    const query = new URLSearchParams({
      watch: "1",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(WATCH_SECONDS),
      resourceVersion: this.#resourceVersion,
    });
    if (labels !== undefined) query.set("labelSelector", labels);
    const body = await this.#ports.client.watch(resource, query, {
      signal,
      idleMs,
      ...(namespace === undefined ? {} : { namespace }),
      ...(metadataOnly === undefined ? {} : { metadataOnly }),
    });
    for await (const value of jsonLines(body)) this.#take(watchEventOf(value, resource.plural));
  }

  #take(event: WatchEvent): void {
    switch (event.kind) {
      case "put":
        this.#put(event.object);
        break;
      case "deleted":
        this.#put(event.object, "quietly");
        this.#remove(keyOf(event.object.metadata.name, event.object.metadata.namespace));
        break;
      case "bookmark":
        break;
      default:
        return unreachable(event);
    }
    this.#resourceVersion = event.resourceVersion ?? this.#resourceVersion;
  }

  #put(received: MetadataOnly, quietly?: "quietly"): void {
    const key = keyOf(received.metadata.name, received.metadata.namespace);
    const before = this.#objects.get(key);
    const { parse } = this.#options;
    const object = parse === undefined ? (received as T) : parse(received);
    if (object === undefined) {
      this.#ports.logger.error({ kind: this.resource.kind, key }, "a watched object cannot be read; its earlier state is used");
      return;
    }
    this.#objects.set(key, object);
    if (quietly !== undefined || before?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#notify(object, before === undefined ? "added" : "changed");
  }

  #remove(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#notify(object, "deleted");
  }

  #notify(object: T, change: Parameters<ChangeListener<T>>[1]): void {
    for (const listener of this.#listeners) listener(object, change);
  }

  #notifyEnd(end: WatchEnd): void {
    for (const listener of this.#ends) listener(end);
  }

  /** Returns a function that ends the resyncs. */
  #resyncAgain(signal: AbortSignal): () => void {
    const { clock, random } = this.#ports;
    const every = this.#options.resyncMs ?? RESYNC_MS;
    const next = (): number => every * (1 + RESYNC_SPREAD * (2 * random.float() - 1));
    const fire = (): void => {
      if (signal.aborted) return;
      for (const object of [...this.#objects.values()]) this.#notify(object, "resync");
      timer = clock.setTimer(next(), fire);
    };
    let timer = clock.setTimer(next(), fire);
    return () => timer.cancel();
  }

  #pause(failures: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    const pauseMs = backoffMs(failures - 1, { firstMs: RELIST_FIRST_MS, longestMs: RELIST_LONGEST_MS }, random);
    return pause(clock, pauseMs, signal);
  }
}

export function keyOf(name: string, namespace: string | undefined): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
