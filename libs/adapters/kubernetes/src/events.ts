/**
 * Writes Kubernetes events, which operators read first. An event that repeats is counted in its series instead of being created again, so
 * that a failing object does not flood the API server.
 */
import { createHash } from "node:crypto";
import { BoundedCache, type Clock, type Logger } from "@perdure/base";
import type { KubernetesClient } from "./client.js";
import { EVENT_EVERY_MS, EVENT_NOTE_CHARS_MAX, EVENT_SERIES_MAX } from "./limits.js";
import { type KubeObject, type ObjectIdentity, resources } from "./resource.js";

interface EventSource {
  /** Reporting controller: `perdure.dev/operator`. */
  readonly controller: string;
  readonly instance: string;
}

/** Namespace of events about cluster-scoped objects; an API server accepts no other. */
export const CLUSTER_EVENTS_NAMESPACE = "default";

interface EventDetails {
  readonly type: "Normal" | "Warning";
  /** CamelCase. */
  readonly reason: string;
  /** The controller's action, CamelCase. */
  readonly action: string;
  readonly note: string;
}

interface EventSeries {
  readonly name: string;
  readonly atMs: number;
  count: number;
}

export class EventRecorder {
  readonly #source: EventSource;
  readonly #ports: { readonly client: KubernetesClient; readonly clock: Clock; readonly logger: Logger };
  readonly #series = new BoundedCache<string, EventSeries>({ entriesMax: EVENT_SERIES_MAX });

  constructor(source: EventSource, ports: { readonly client: KubernetesClient; readonly clock: Clock; readonly logger: Logger }) {
    this.#source = source;
    this.#ports = ports;
  }

  /** Never rejects: a failure to write an event is logged. */
  async record(regarding: ObjectIdentity, { type, reason, action, note }: EventDetails): Promise<void> {
    const { client, clock, logger } = this.#ports;
    const key = createHash("sha256")
      .update(JSON.stringify([regarding.metadata.uid, reason, note]))
      .digest("hex")
      .slice(0, 16);
    const now = clock.monotonicMs();
    const series = this.#series.peek(key);
    if (series !== undefined && now - series.atMs < EVENT_EVERY_MS) {
      series.count++;
      return;
    }
    const { name, namespace, uid } = regarding.metadata;
    const next: EventSeries = { name: `${name}.${key}`, atMs: now, count: (series?.count ?? 0) + 1 };
    this.#series.set(key, next);
    const time = new Date(clock.nowMs()).toISOString().replace("Z", "000Z");
    const event: KubeObject = {
      apiVersion: resources.events.apiVersion,
      kind: resources.events.kind,
      metadata: { name: next.name, namespace: namespace ?? CLUSTER_EVENTS_NAMESPACE },
      eventTime: time,
      reportingController: this.#source.controller,
      reportingInstance: this.#source.instance,
      type,
      reason,
      action,
      note: note.slice(0, EVENT_NOTE_CHARS_MAX),
      regarding: {
        apiVersion: regarding.apiVersion,
        kind: regarding.kind,
        name,
        uid,
        ...(namespace === undefined ? {} : { namespace }),
      },
      ...(next.count > 1 ? { series: { count: next.count, lastObservedTime: time } } : {}),
    };
    try {
      // The first time of a series stays; with one name there is one event for it.
      const before = next.count > 1 ? await client.find(resources.events, next.name, event.metadata.namespace) : undefined;
      await client.apply(
        { ...event, eventTime: before?.["eventTime"] ?? time },
        { manager: this.#source.controller.split("/")[1] ?? "perdure", force: true },
      );
    } catch (cause) {
      logger.warn({ cause, reason }, "failed to emit event");
    }
  }
}
