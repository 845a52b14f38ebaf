/**
 * Publishes events about an environment. One process checks at a time: the server, or the leader among the registries.
 *
 *     check ▸ a condition begins or is over ▸ mark with the event (durable) ▸ deliveries (durable) ▸ mark without it
 *
 * After a crash the next process finds the mark and submits the same deliveries, whose ids follow from the event. Without subscriptions
 * to such events nothing is checked. It also continues to measure conditions that have not begun yet.
 */
import { hashString, unreachable } from "@perdure/base";
import {
  deliveryOf,
  ENVIRONMENT_EVENT_TYPES,
  type EnvironmentEventType,
  type EventAbout,
  encodeEvent,
  matchesEnvironmentEvent,
} from "@perdure/state-machine";
import {
  CONDITION_KINDS,
  type ConditionKind,
  type EnvironmentCondition,
  EVENTS_OF,
  type EventData,
  type Findings,
} from "./condition.js";
import { DeploymentDrain, supersededOf } from "./drain.js";
import { CONDITIONS_MAX } from "./limits.js";
import { type ConditionMark, Marks, type PendingEvent } from "./marks.js";
import { type Detectors, measuredBy, restoreMeasured } from "./measured.js";
import type { EnvironmentEventsOptions, EnvironmentEventsPorts } from "./ports.js";
import { SubscriptionProgress } from "./progress.js";
import { LimitSaturation } from "./saturation.js";
import { submitDelivery } from "./submit.js";

export class EnvironmentEvents {
  readonly #ports: EnvironmentEventsPorts;
  readonly #detectors: Detectors;
  readonly #checkIntervalMs: number;
  #isRestored = false;
  /** Undefined before the first check, and after an error: what is stored may differ from what is in memory. */
  #marks: Marks | undefined;

  constructor(ports: EnvironmentEventsPorts, { checkIntervalMs, stuckAfterMs, saturatedAfterMs }: EnvironmentEventsOptions) {
    this.#ports = ports;
    this.#checkIntervalMs = checkIntervalMs;
    this.#detectors = {
      progress: new SubscriptionProgress(stuckAfterMs),
      saturation: new LimitSaturation(saturatedAfterMs),
      drain: new DeploymentDrain(ports),
    };
  }

  /** Rejects with the error of a port; the next check continues. */
  async check(signal: AbortSignal): Promise<void> {
    const kinds = CONDITION_KINDS.filter((kind) => this.#isSubscribed(kind));
    try {
      this.#marks ??= await Marks.load(this.#ports.metadata);
      this.#restore(this.#marks);
      await this.#deleteUnsubscribed(this.#marks, kinds);
      for (const mark of this.#marks.all()) if (mark.pending !== undefined) await this.#deliver(this.#marks, mark, mark.pending);
      if (kinds.length === 0 || !(await this.#ports.isWhole())) return;
      for (const kind of kinds) {
        if (signal.aborted) return;
        await this.#apply(this.#marks, kind, await this.#find(this.#marks, kind, signal));
      }
      await this.#marks.setMeasured(measuredBy(this.#detectors, kinds, this.#ports.clock));
    } catch (cause) {
      this.#marks = undefined;
      throw cause;
    }
  }

  /** Once: what is in memory later is newer than what is stored. */
  #restore(marks: Marks): void {
    if (this.#isRestored) return;
    this.#isRestored = true;
    restoreMeasured(this.#detectors, marks.measured, this.#ports.clock, this.#checkIntervalMs);
  }

  #isSubscribed(kind: ConditionKind): boolean {
    const { begin, over } = EVENTS_OF[kind];
    return this.#ports.registry
      .eventSubscriptions()
      .some(({ types }) => types.includes(begin) || (over !== undefined && types.includes(over)));
  }

  /** A later subscription begins with what holds then. */
  async #deleteUnsubscribed(marks: Marks, kinds: readonly ConditionKind[]): Promise<void> {
    for (const mark of marks.all()) if (!kinds.includes(mark.kind)) await marks.delete(mark);
    const { progress, saturation, drain } = this.#detectors;
    if (!kinds.includes("subscriptionStuck")) progress.restore({}, Number);
    if (!kinds.includes("limitSaturated")) saturation.restore({}, Number);
    if (!kinds.includes("deploymentDrained")) drain.restore({});
    if (!kinds.includes("deploymentDrained")) await marks.deleteBaseline();
    if (kinds.length === 0) await marks.setMeasured(undefined);
  }

  async #find(marks: Marks, kind: ConditionKind, signal: AbortSignal): Promise<Findings> {
    const { registry, clock, subscriptionStatuses, limits, buckets } = this.#ports;
    const { progress, saturation, drain } = this.#detectors;
    const reported = marks.of(kind);
    switch (kind) {
      case "subscriptionStuck":
        return progress.check(registry.subscriptions(), await subscriptionStatuses(), reported, clock.monotonicMs());
      case "limitSaturated": {
        const rows = await collected(limits());
        return saturation.check(rows, await collected(buckets()), reported, clock.monotonicMs());
      }
      case "deploymentDrained": {
        const superseded = supersededOf(registry.deployments(), registry.services());
        if (marks.uncounted === undefined) await marks.setBaseline(superseded.map(({ id }) => id));
        return await drain.check(superseded, reported, signal);
      }
      default:
        return unreachable(kind);
    }
  }

  async #apply(marks: Marks, kind: ConditionKind, { begun, over, gone }: Findings): Promise<void> {
    const byId = new Map(marks.of(kind).map((mark) => [mark.subject, mark]));
    for (const subject of gone) await marks.delete({ kind, subject });
    for (const [subject, data] of over) {
      const mark = byId.get(subject);
      const type = EVENTS_OF[kind].over;
      if (mark === undefined || type === undefined) continue;
      const pending = this.#eventOf(type, subject, { ...data, since: new Date(mark.sinceMs).toISOString() });
      const ended: ConditionMark = { ...mark, isOver: true, pending };
      await marks.put(ended);
      await this.#deliver(marks, ended, pending);
    }
    for (const condition of begun) await this.#begin(marks, kind, condition);
    if (kind === "deploymentDrained") await this.#passBaseline(marks);
  }

  async #begin(marks: Marks, kind: ConditionKind, { subject, about, positions, data }: EnvironmentCondition): Promise<void> {
    if (marks.size >= CONDITIONS_MAX) return;
    const { clock } = this.#ports;
    // It was drained before anyone subscribed.
    const isOld = kind === "deploymentDrained" && marks.uncounted?.includes(subject) === true;
    const pending = isOld ? undefined : this.#eventOf(EVENTS_OF[kind].begin, subject, data);
    const { services, handler, scope } = about;
    const mark: ConditionMark = {
      kind,
      subject,
      about: { services: [...services], handler, scope },
      sinceMs: clock.nowMs(),
      positions: positions && { ...positions },
      pending,
      isOver: false,
    };
    await marks.put(mark);
    if (pending !== undefined) await this.#deliver(marks, mark, pending);
  }

  /** Removes from the baseline the deployments that have been counted. */
  async #passBaseline(marks: Marks): Promise<void> {
    const uncounted = marks.uncounted ?? [];
    const reported = new Set(marks.of("deploymentDrained").map(({ subject }) => subject));
    const rest = uncounted.filter((id) => !reported.has(id) && this.#detectors.drain.isInUse(id) !== true);
    if (rest.length < uncounted.length) await marks.setBaseline(rest);
  }

  #eventOf(type: EnvironmentEventType, subject: string, data: EventData): PendingEvent {
    const atMs = this.#ports.clock.nowMs();
    const number = ENVIRONMENT_EVENT_TYPES.indexOf(type);
    const id = `evt_${hashString(subject).toString(36)}_${atMs.toString(36)}_e${number}`;
    return { id, type, atMs, data };
  }

  /** To every subscription that matches now; then the mark says that it was delivered. */
  async #deliver(marks: Marks, mark: ConditionMark, event: PendingEvent): Promise<void> {
    const { registry, clock, logger } = this.#ports;
    const encoded = encodeEvent(event.id, event.type, mark.subject, event.atMs, event.data);
    for (const subscription of registry.eventSubscriptions()) {
      if (!matchesEnvironmentEvent(subscription, event.type, aboutOf(mark))) continue;
      await submitDelivery(this.#ports, deliveryOf(subscription, encoded, clock.nowMs()));
    }
    logger.info({ eventType: event.type, subject: mark.subject, eventId: event.id }, "event about the environment published");
    if (mark.isOver) await marks.delete(mark);
    else await marks.put({ ...mark, pending: undefined });
  }
}

function aboutOf({ about: { services, handler, scope } }: ConditionMark): EventAbout {
  return { services, handler, scope };
}

async function collected<T>(rows: Iterable<T> | AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
}
