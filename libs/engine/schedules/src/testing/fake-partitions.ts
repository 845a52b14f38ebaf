/** Partitions for tests of the engine: they keep every invocation for ever, end runs on request, and fail on request. */
import { type InvocationId, invariant } from "@perdure/base";
import type { Completion, InvokeObserver, Partitions } from "@perdure/control";
import type { CommandAnswer, Invocation, Invoke } from "@perdure/state-machine";
import { anInvocation, SUCCESS } from "@perdure/state-machine/testing";

/** `refuse`: not stored, with an error. `lose`: stored, and the response lost. `hang`: there is never a response. */
export type InjectedFault = "none" | "refuse" | "lose" | "hang";

interface Run {
  readonly command: Invoke;
  hasEnded: boolean;
}

const COMPLETION: Completion = { outcome: SUCCESS, expiresAtMs: undefined };

/** Matches the header with the scheduled time in the input of a firing. */
const SCHEDULED_TIME = /x-perdure-scheduled-time.{1,3}(\d{4}-[0-9T:.-]+Z)/s;

export class FakePartitions implements Partitions {
  /** Runs in the order in which they were first stored. */
  readonly runs = new Map<InvocationId, Run>();
  readonly cancelled: InvocationId[] = [];
  /** Called at each submission. */
  fault: () => InjectedFault = () => "none";
  /** Whether each run ends as soon as it is stored; otherwise the test ends runs. */
  endsAtOnce = false;
  submissionCount = 0;
  readonly #waiting = new Map<InvocationId, Set<(completion: Completion) => void>>();

  /** The scheduled times of all firings, from their headers. */
  get times(): string[] {
    return [...this.runs.values()].map(({ command }) => {
      const [, time] = SCHEDULED_TIME.exec(Buffer.from(command.input).toString("latin1")) ?? [];
      invariant(time !== undefined, "every firing has a time");
      return time;
    });
  }

  /** Runs that have not ended. */
  get running(): InvocationId[] {
    return [...this.runs].filter(([, { hasEnded }]) => !hasEnded).map(([id]) => id);
  }

  end(id: InvocationId): void {
    const run = this.runs.get(id);
    invariant(run !== undefined, "only runs that began can end");
    run.hasEnded = true;
    for (const notify of this.#waiting.get(id) ?? []) notify(COMPLETION);
    this.#waiting.delete(id);
  }

  /** Drops all waiting callers without a response, as a restart of the partitions' process does. */
  dropWaiters(): void {
    this.#waiting.clear();
  }

  invoke(command: Invoke, wait: boolean, observer: InvokeObserver) {
    this.submissionCount++;
    const fault = this.fault();
    const existing = this.runs.get(command.id);
    if (fault === "refuse") {
      observer.unavailable("refused by the test");
      return { detach: () => undefined };
    }
    if (existing === undefined) this.runs.set(command.id, { command, hasEnded: this.endsAtOnce });
    if (fault === "lose") observer.unavailable("the answer was lost by the test");
    if (fault !== "none") return { detach: () => undefined };
    const isResubmission = command.facts.requestId !== 0 && existing?.command.facts.requestId === command.facts.requestId;
    observer.submitted(existing === undefined || isResubmission ? undefined : stored(existing));
    return wait ? this.#wait(command.id, (completion) => observer.completed(completion)) : { detach: () => undefined };
  }

  attach(id: InvocationId, observer: { completed(completion: Completion): void; notFound(): void }) {
    if (this.runs.has(id)) return this.#wait(id, (completion) => observer.completed(completion));
    observer.notFound();
    return { detach: () => undefined };
  }

  async describe(id: InvocationId): Promise<Invocation | undefined> {
    const run = this.runs.get(id);
    return run === undefined ? undefined : stored(run);
  }

  async submit(command: { readonly kind: string; readonly id: InvocationId }): Promise<CommandAnswer> {
    invariant(command.kind === "cancel", "the engine only cancels");
    this.cancelled.push(command.id);
    return { kind: "pending" };
  }

  async output(): Promise<never> {
    throw new Error("the engine has no business with outputs");
  }

  #wait(id: InvocationId, notify: (completion: Completion) => void) {
    if (this.runs.get(id)?.hasEnded === true) {
      notify(COMPLETION);
      return { detach: () => undefined };
    }
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(notify));
    return { detach: () => waiting.delete(notify) };
  }
}

function stored({ command, hasEnded }: Run): Invocation {
  return hasEnded ? anInvocation("completed", { facts: command.facts }) : anInvocation("invoked", { facts: command.facts });
}
