/** The notifications that an attempt has received, so that a suspension can be checked before it is reported (service-protocol §9.2). */

import { type LeafOutcome, type NotificationId, notificationIdOf, notificationOutcomeOf } from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";

export class ReceivedNotifications {
  /** Created when first needed: most attempts never receive a notification. */
  #completions: Map<number, LeafOutcome> | undefined;
  #signals: Map<string | number, LeafOutcome> | undefined;
  #count = 0;

  /** Notifications of the journal, repeated ids included. */
  get count(): number {
    return this.#count;
  }

  add(entry: JournalEntry): void {
    this.#count++;
    const id = notificationIdOf(entry.type, entry.body);
    const outcome = notificationOutcomeOf(entry.body);
    if (id.kind === "completion") {
      this.#completions ??= new Map();
      this.#completions.set(id.id, outcome);
      return;
    }
    // Of two signals with one id, the handler receives the first.
    this.#signals ??= new Map();
    const key = signalKey(id);
    if (!this.#signals.has(key)) this.#signals.set(key, outcome);
  }

  lookup(id: NotificationId): LeafOutcome | undefined {
    return id.kind === "completion" ? this.#completions?.get(id.id) : this.#signals?.get(signalKey(id));
  }
}

function signalKey(id: Exclude<NotificationId, { kind: "completion" }>): string | number {
  return id.kind === "signalIndex" ? id.index : id.name;
}
