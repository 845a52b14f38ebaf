/** Performs each effect once when its batch is durable: attempts, timers, slots, replies. */
import type { InvocationId, Logger } from "@perdure/base";
import type { Invoker } from "@perdure/invoker";
import type { CommandAnswer, Effect } from "@perdure/state-machine";
import type { Waiters } from "../callers/waiters.js";
import type { FlowControl } from "../flow/flow-control.js";
import type { ProcessorCounters, ProcessorMetrics } from "../ports.js";
import type { Timers } from "../timers.js";
import type { PostCommitAction } from "./mailbox-message.js";

export interface PerformerPorts {
  readonly invoker: Invoker;
  readonly timers: Timers;
  readonly flow: FlowControl;
  readonly waiters: Waiters;
  readonly counters: ProcessorCounters;
  readonly metrics: ProcessorMetrics | undefined;
  readonly logger: Logger;
  readonly partitionOf: (id: InvocationId) => number;
}

export class Performer {
  readonly #ports: PerformerPorts;

  constructor(ports: PerformerPorts) {
    this.#ports = ports;
  }

  perform(actions: readonly PostCommitAction[]): void {
    for (const action of actions) {
      try {
        if (typeof action === "function") action();
        else this.#effect(action.effect, action.reply);
      } catch (cause) {
        // An error of one caller must not prevent the effects of others.
        this.#ports.logger.error({ error: cause instanceof Error ? cause.stack : String(cause) }, "performing an effect failed");
      }
    }
    this.#ports.flow.admitWaiting();
  }

  #effect(effect: Effect, reply: ((answer: CommandAnswer) => void) | undefined): void {
    const { invoker, timers, flow, waiters, counters, metrics, partitionOf } = this.#ports;
    switch (effect.kind) {
      case "startRun":
        return invoker.startRun(effect);
      case "entryStored":
        return invoker.entryStored(effect);
      case "stopRun":
        return invoker.stopRun(effect);
      case "requestPause":
        return invoker.requestPause(effect);
      case "retryNow":
        return invoker.retryNow(effect);
      case "armTimer":
        return timers.arm(partitionOf(effect.timer.id), effect.timer);
      case "requestSlot":
      case "takeSlot":
        return flow.perform(partitionOf(effect.invocation.facts.id), effect);
      case "slotUnused":
      case "releaseSlot":
      case "withdraw":
      case "queueSwitched":
        return flow.perform(partitionOf(effect.id), effect);
      case "announce":
        counters.completed++;
        metrics?.completed(effect.outcome);
        return waiters.announce(effect.id, effect.outcome);
      case "reply":
        return reply?.(effect.answer);
    }
  }
}
