/** Performs each action once when its batch is durable: attempts, timers, slots, answers, messages to other partitions. */
import type { CommandAnswer, Effect } from "@perdure/state-machine";
import type { LeaderPartition } from "../leader-partition.js";
import type { PartitionGroup } from "../partition-group.js";
import type { AnswerReceiver } from "./mailbox-message.js";
import type { PostCommitAction } from "./ready-batch.js";

/** Performs the actions in their order, then starts invocations for which a slot became free. */
export function perform(group: PartitionGroup, actions: readonly PostCommitAction[]): void {
  for (const action of actions) {
    try {
      performAction(group, action);
    } catch (cause) {
      // An error of one caller must not prevent the effects of others.
      group.ports.logger.error({ error: cause instanceof Error ? cause.stack : String(cause) }, "performing an effect failed");
    }
  }
  group.flow.admitWaiting();
}

function performAction(group: PartitionGroup, action: PostCommitAction): void {
  switch (action.kind) {
    case "effect":
      return performEffect(group, action.leader, action.effect, action.receiver);
    case "send":
      return action.leader.outbox.send(action.message, action.to);
    case "confirmDelivery":
      return group.deliveries.delivered(action.message);
    case "answerInspection":
      return action.message.receiver.answered(action.invocation);
    case "passBarrier":
      return action.message.passed();
    case "confirmEviction":
      return action.message.evicted(action.count);
    case "noteDeletion":
      return action.leader.archived?.deletions.noted(action.name);
  }
}

function performEffect(
  group: PartitionGroup,
  leader: LeaderPartition,
  effect: Effect,
  receiver: AnswerReceiver<CommandAnswer> | undefined,
): void {
  const { invoker } = group;
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
      return group.timers.arm(leader, effect.timer);
    case "requestSlot":
    case "takeSlot":
    case "slotUnused":
    case "releaseSlot":
    case "withdraw":
    case "queueSwitched":
      return group.flow.perform(leader, effect);
    case "stateExpired":
      group.counters.statesExpired++;
      return;
    case "announce":
      group.counters.completed++;
      group.ports.metrics?.completed(effect.outcome);
      return group.waiters.announce(effect.id, effect.outcome);
    case "reply":
      return receiver?.answered(effect.answer);
  }
}
