/** Passes the event subscriptions of the registry to the partitions that are led here. */
import type { EventSubscription } from "@perdure/state-machine";
import type { PartitionGroup } from "./partition-group.js";

/** Source of the event subscriptions, from the registry. */
export interface EventSubscriptionSource {
  /** The active ones: the same value until one changes, undefined when there are none. */
  subscriptions(): readonly EventSubscription[] | undefined;
  onChange(listener: () => void): () => void;
}

export class EventSubscriptions {
  readonly #source: EventSubscriptionSource | undefined;
  readonly #unlisten: (() => void) | undefined;

  constructor({ ports: { events }, leaders }: Pick<PartitionGroup, "ports" | "leaders">) {
    this.#source = events;
    this.#unlisten = events?.onChange(() => {
      for (const { view } of leaders.values()) view.eventSubscriptions = this.current;
    });
  }

  get current(): readonly EventSubscription[] | undefined {
    return this.#source?.subscriptions();
  }

  stop(): void {
    this.#unlisten?.();
  }
}
