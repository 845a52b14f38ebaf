/** Writes events of many schedules together, one write at a time, because thousands of schedules may fire in the same second. */
import { RECORDED_TOGETHER_MAX } from "./limits.js";
import type { RecordedEvents, ScheduleBook } from "./ports.js";

interface PendingRecord {
  readonly change: RecordedEvents;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/**
 * Writes changes in groups: while one write is under way the next gathers. Waiting changes are at most the schedules in flight and calls.
 */
export class ScheduleRecorder {
  readonly #book: Pick<ScheduleBook, "record">;
  #waiting: PendingRecord[] = [];
  #isWriting = false;

  constructor(book: Pick<ScheduleBook, "record">) {
    this.#book = book;
  }

  /** Resolves when the change is durable. */
  record(change: RecordedEvents): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      if (!this.#isWriting) this.#write();
    });
  }

  /** Calls itself until no event waits; failures reject the promises of the waiting callers. */
  #write(): void {
    const together = this.#waiting.slice(0, RECORDED_TOGETHER_MAX);
    this.#waiting = this.#waiting.slice(RECORDED_TOGETHER_MAX);
    this.#isWriting = together.length > 0;
    if (!this.#isWriting) return;
    this.#book
      .record(together.map(({ change }) => change))
      .then(
        () => {
          for (const one of together) one.resolve();
        },
        (cause: unknown) => {
          for (const one of together) one.reject(cause);
        },
      )
      .finally(() => this.#write());
  }
}
