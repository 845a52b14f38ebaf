/** Runs that wait for a slot: services take turns, and the runs of one service are served in the order in which they came. */
import { Ring } from "@perdure/base";

export interface QueuedForSlot {
  readonly service: string;
  /** Wall-clock time at which the run began to wait. */
  readonly queuedAtMs: number;
  /** False once the run was stopped: its place in the queue is skipped. */
  readonly isWaitingForSlot: boolean;
}

export class SlotQueue<User extends QueuedForSlot> {
  readonly #services = new Map<string, Ring<User>>();
  /** Services with a queue, each once, in the order of their turns. */
  readonly #turns = new Ring<string>();

  push(user: User): void {
    let queue = this.#services.get(user.service);
    if (queue === undefined) {
      queue = new Ring();
      this.#services.set(user.service, queue);
      this.#turns.push(user.service);
    }
    queue.push(user);
  }

  /** The first run of the next service in turn, among those that `maySend`; undefined when no such run waits. */
  shift(maySend: (service: string) => boolean): User | undefined {
    for (let services = this.#turns.length; services > 0; services--) {
      const service = this.#turns.shift()!;
      if (!maySend(service)) {
        this.#turns.push(service);
        continue;
      }
      const queue = this.#services.get(service)!;
      dropStopped(queue);
      const user = queue.shift();
      if (queue.length > 0) this.#turns.push(service);
      else this.#services.delete(service);
      if (user !== undefined) return user;
    }
    return undefined;
  }

  /** Time at which the longest waiting run began to wait; undefined when no run waits. */
  get oldestQueuedAtMs(): number | undefined {
    let oldest: number | undefined;
    for (const queue of this.#services.values()) {
      dropStopped(queue);
      const queuedAtMs = queue.peek()?.queuedAtMs;
      if (queuedAtMs !== undefined && (oldest === undefined || queuedAtMs < oldest)) oldest = queuedAtMs;
    }
    return oldest;
  }
}

function dropStopped(queue: Ring<QueuedForSlot>): void {
  while (queue.peek()?.isWaitingForSlot === false) queue.shift();
}
