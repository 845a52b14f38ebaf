import type { InvocationId } from "@perdure/base";
import type { Invoker, InvokerHost } from "@perdure/invoker";
import type { Effect, EntryStored, StartRun, StopRun } from "@perdure/state-machine";

/** An invoker that only records its calls. */
export class ScriptedInvoker implements Invoker {
  readonly effects: Effect[] = [];
  readonly host: InvokerHost;
  isDisposed = false;
  constructor(host: InvokerHost) {
    this.host = host;
  }
  startRun(effect: StartRun): void {
    this.effects.push(effect);
  }
  entryStored(effect: EntryStored): void {
    this.effects.push(effect);
  }
  stopRun(effect: StopRun): void {
    this.effects.push(effect);
  }
  requestPause(effect: Effect & { kind: "requestPause" }): void {
    this.effects.push(effect);
  }
  retryNow(effect: Effect & { kind: "retryNow" }): void {
    this.effects.push(effect);
  }
  async finishAttempts(): Promise<void> {}
  status(): undefined {
    return undefined;
  }
  statuses(): [] {
    return [];
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.isDisposed = true;
  }
  /** Runs started for `id`, in order. */
  runs(id: InvocationId): StartRun[] {
    return this.effects.filter((effect): effect is StartRun => effect.kind === "startRun" && effect.invocation.facts.id === id);
  }
}
