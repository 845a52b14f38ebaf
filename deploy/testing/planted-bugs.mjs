/**
 * Bugs that the simulator must find (`make sim PLANT=name`, `PLANT=all`): each replaces text of product modules in a bundle of its own, never in
 * the tree. A text that is not there exactly once ends the run with an error, so a change of the module changes the plant too. `world` is the
 * number of the world that found it in the run that docs/contributing/simulator.md records; a short run tries that one first.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { flow, invoker, partition, plant, processor, stored } from "./plant.mjs";
import { PLANTED_ATTACH_BUGS } from "./planted-attach-bugs.mjs";
import { PLANTED_THREAD_BUGS } from "./planted-thread-bugs.mjs";
import { PLANTED_THROTTLE_BUGS } from "./planted-throttle-bugs.mjs";
import { PLANTED_UNDO_BUGS } from "./planted-undo-bugs.mjs";

const inDebouncedWorlds = (...bug) => ({ ...plant(...bug), isDebounced: true });

export const PLANTED_BUGS = [
  plant(
    "kill-spares-a-child",
    "A kill spares the first invocation that was called",
    11,
    [
      partition("invocation/control.ts"),
      "  for (const entry of view.journalOf(invocation.facts.id, invocation.journal.length)) {\n",
      "  let isSpared = false;\n  for (const entry of view.journalOf(invocation.facts.id, invocation.journal.length)) {\n",
    ],
    [
      partition("invocation/control.ts"),
      '    out.send(undo === undefined ? { kind: "kill", id } : { kind: "kill", id, undo });\n',
      '    if (isSpared) out.send(undo === undefined ? { kind: "kill", id } : { kind: "kill", id, undo });\n    isSpared = true;\n',
    ],
  ),
  plant("old-run-may-write", "A message of a run that is over is heeded", 19, [
    partition("invocation/attempt.ts"),
    'invocation.status === "invoked" && invocation.run === command.run',
    'invocation.status === "invoked"',
  ]),
  plant("gone-timer-fires", "A timer that is gone fires again", 91, [
    partition("timer/fire.ts"),
    "  if (!view.hasTimer(timer)) return;\n",
    "",
  ]),
  plant("second-completion-wins", "A second completion of a promise wins", 2, [
    partition("promise/promise.ts"),
    '  if (promise?.kind === "completed") {\n    completeAtOnce(view, out, invocation, MessageType.CompletePromiseCompletion',
    "  if (promise === null) {\n    completeAtOnce(view, out, invocation, MessageType.CompletePromiseCompletion",
  ]),
  plant("full-page-of-timers", "When a full page of timers is due, the rest sleeps until a restart", 75, [
    processor("timers.ts"),
    "else if (page.length === TIMER_PAGE) this.#lower(",
    "else if (page.length > TIMER_PAGE) this.#lower(",
  ]),
  plant("later-timers-forgotten", "Later timers of a page are never fired", 1, [
    processor("timers.ts"),
    "if (later !== undefined) this.#lower(leader, group, later.dueAtMs);",
    "if (later !== undefined) void later;",
  ]),
  plant("stored-timers-not-armed", "A new leader does not arm the timers that are stored", 1, [
    processor("timers.ts"),
    "if (first !== undefined) this.#lower(leader, group, first.dueAtMs);",
    "void first;",
  ]),
  plant("timer-too-early", "Sleeps end a second before their time", 1, [
    partition("journal/perform-action.ts"),
    "const timer = { dueAtMs: action.wakeUpAtMs,",
    "const timer = { dueAtMs: action.wakeUpAtMs - 1_000,",
  ]),
  plant("outbox-not-recovered", "A new leader does not send again what the outbox holds", 6, [
    processor("outbox/outbox.ts"),
    "        this.send(message, to);\n",
    "",
  ]),
  plant("outbox-numbers-again", "A new leader begins its sequence numbers anew", 4, [
    processor("outbox/outbox.ts"),
    "this.#next = epoch * SEQUENCES_PER_EPOCH;",
    "this.#next = 0 * epoch * SEQUENCES_PER_EPOCH;",
  ]),
  plant("delivery-taken-twice", "Deduplication is off by one", 6, [
    processor("turn/command-applier.ts"),
    "if (message.seq > lastSeq) {",
    "if (message.seq >= lastSeq) {",
  ]),
  plant("effects-before-commit", "Effects are performed before their batch is durable", 1, [
    processor("turn/turn-loop.ts"),
    "    const sinceMs = clock.monotonicMs();\n",
    "    const sinceMs = clock.monotonicMs();\n    perform(this.#group, ready.actions.splice(0));\n",
  ]),
  plant("fenced-leader-goes-on", "A leader whose commit was refused continues", 10, [
    processor("turn/turn-loop.ts"),
    'if (outcome.kind === "fenced") return this.#group.fenced(outcome.partition);',
    "",
  ]),
  plant("runs-not-resumed", "A new leader does not continue with what was running", 1, [
    processor("take-over.ts"),
    "    running.push(invocation);\n",
    "",
  ]),
  plant("take-back-keeps-rows", "A command that is applied again leaves rows of its first try", 1, [
    processor("view/live-view.ts"),
    "    if (this.#mutations !== undefined) this.#mutations.length = this.#mutationMark;\n",
    "",
  ]),
  plant("state-cache-stale", "Kept states do not take up what was written", 2, [
    processor("view/whole-states.ts"),
    "      this.#cache.written(objectName(write.service, write.key), write.stateKey, value);\n",
    "      void value;\n",
  ]),
  plant("suspends-one-too-many", "A suspension ignores one notification that its attempt had not seen", 1, [
    partition("invocation/attempt.ts"),
    "const unseen = invocation.journal.notifications - command.receivedNotificationCount;",
    "const unseen = invocation.journal.notifications - command.receivedNotificationCount - 1;",
  ]),
  plant("inbox-skips-one", "A long inbox of an object skips one", 2, [
    partition("lock/lock.ts"),
    "for (let seq = lock.head; seq < lock.tail; seq++) {",
    "for (let seq = lock.tail - lock.head > 2 ? lock.head + 1 : lock.head; seq < lock.tail; seq++) {",
  ]),
  plant("killed-holder-keeps-lock", "A killed invocation keeps the lock of its object", 11, [
    partition("invocation/outcome.ts"),
    "if (isExclusive(target)) releaseLock(",
    'if (isExclusive(target) && reason === "ended") releaseLock(',
  ]),
  plant("edit-passes-the-queue", "An edit of state does not wait for the handler that runs", 11, [
    partition("state/replace.ts"),
    "const lock = isExclusive ?",
    "const lock = isExclusive && entries.length < 0 ?",
  ]),
  plant("attach-after-the-end", "A client that attaches after the end is never answered", 2, [
    partition("invocation/outcome.ts"),
    'if (invocation.status === "completed") return notifySink(out, sink, invocation.outcome);',
    'if (invocation.status === "completed") return;',
  ]),
  plant("cancelled-before-start", "Callers of an invocation that is cancelled before its start get no response", 11, [
    partition("invocation/control.ts"),
    "  notifyWaiters(invocation, outcome, out, undo?.operation);\n",
    "  void outcome;\n",
  ]),
  plant("cancel-not-stored", "A request to cancel is answered and not stored", 3, [
    partition("invocation/control.ts"),
    '    case "paused":\n      storeSignal(view, out, invocation, { kind: "signalIndex", index: cancelSignalIndex }, voidResult);\n',
    '    case "paused":\n',
  ]),
  plant("one-listener-of-a-promise", "Only the first invocation that waits for a promise is notified of its completion", 379, [
    partition("promise/promise.ts"),
    "for (const listener of promise?.listeners ?? []) {",
    "for (const listener of (promise?.listeners ?? []).slice(0, 1)) {",
  ]),
  plant("resubmission-accepted", "What a caller submits again is accepted again", 3, [
    partition("invocation/invoke.ts"),
    "idempotencyKey !== undefined || command.resubmission === true || isWorkflowRun(target)",
    "idempotencyKey !== undefined || isWorkflowRun(target)",
  ]),
  plant("second-run-of-a-workflow", "A second run of a workflow key is accepted", 2, [
    partition("invocation/invoke.ts"),
    "command.resubmission === true || isWorkflowRun(target)",
    "command.resubmission === true",
  ]),
  plant("restart-loses-an-entry", "A restart copies one entry too few", 11, [
    partition("invocation/restart.ts"),
    "for (let index = 0; index <= from; index++) {",
    "for (let index = 0; index < from; index++) {",
  ]),
  plant("fork-keeps-old-results", "A fork copies the results that it should replace", 56, [
    partition("invocation/restart.ts"),
    "return body === undefined ? entry : { ...entry, body };",
    "return body === undefined ? entry : { ...entry };",
  ]),
  plant("slot-kept-while-suspended", "A suspended invocation of a scope keeps its slot", 42, [
    partition("invocation/attempt.ts"),
    '  out.mutate({ kind: "putInvocation", invocation: suspended });\n  letGoOfSlot(out, invocation);\n',
    '  out.mutate({ kind: "putInvocation", invocation: suspended });\n',
  ]),
  plant("retry-replays-too-little", "The next attempt does not know what the last one stored", 19, [
    invoker("run.ts"),
    "    this.#journal.stored(effect);\n",
    "    if (effect.index % 5 !== 4) this.#journal.stored(effect);\n",
  ]),
  plant("lease-outlives-its-end", "A leader continues when its lease has ended", 16, [
    processor("cluster/leadership.ts"),
    "if (leased.endsAtMs <= nowMs) this.#lose(",
    "if (leased.endsAtMs + 5_000 <= nowMs) this.#lose(",
  ]),
  plant("lock-not-released", "Now and then an object keeps its lock when no invocation waits for it", 1, [
    partition("lock/lock.ts"),
    '  out.mutate({ kind: "deleteLock", service, key });\n',
    '  if (Math.floor(out.nowMs) % 4 > 0) out.mutate({ kind: "deleteLock", service, key });\n',
  ]),
  plant("timer-lost", "One timer in ten is not stored", 1, [
    stored,
    "        write.set(keys.timerKeyOf(partition, mutation.timer), NO_BYTES);\n",
    "        if (Math.floor(mutation.timer.dueAtMs) % 10 > 0) write.set(keys.timerKeyOf(partition, mutation.timer), NO_BYTES);\n",
  ]),
  plant("entry-lost", "One entry of a journal in twenty is not stored", 1, [
    stored,
    "        write.set(keys.entryKey(partition, mutation.id, mutation.index), entryRow(mutation.entry));\n",
    "        if ((mutation.index + mutation.entry.body.length) % 20 === 7) break;\n" +
      "        write.set(keys.entryKey(partition, mutation.id, mutation.index), entryRow(mutation.entry));\n",
  ]),
  plant("state-not-stored", "One value of state in five is not stored", 2, [
    stored,
    "        write.set(keys.stateKeyOf(partition, mutation.service, mutation.key, mutation.stateKey), mutation.value);\n",
    "        if (mutation.value.reduce((sum, byte) => sum + byte, 0) % 5 === 0) break;\n" +
      "        write.set(keys.stateKeyOf(partition, mutation.service, mutation.key, mutation.stateKey), mutation.value);\n",
  ]),
  plant("outbox-not-stored", "Messages to other partitions are not stored", 6, [
    stored,
    "        write.set(keys.outboxKey(partition, mutation.message.seq), encodeOutboxCommand(mutation.message.command));\n",
    "",
  ]),
  plant("invocation-not-deleted", "One invocation in four stays stored when its retention ends", 1, [
    stored,
    "        invocations.set(mutation.id, undefined);\n",
    "        if (mutation.id.charCodeAt(24) % 4 === 0) break;\n        invocations.set(mutation.id, undefined);\n",
  ]),
  plant("fencing-ignored", "The store takes what a leader of before writes", 1, [
    stored,
    '      if (present !== batch.epoch) return { kind: "fenced", partition: batch.partition, by: present };\n',
    "",
  ]),
  plant("acknowledged-before-commit", "A message counts as delivered when it has arrived, not when it is durable", 190, [
    processor("turn/command-applier.ts"),
    "    if (message.after !== undefined && lastSeq < message.after) return deliveries.refuse(message);\n",
    "    if (message.after !== undefined && lastSeq < message.after) return deliveries.refuse(message);\n    deliveries.delivered(message);\n",
  ]),
  plant("retry-too-early", "A retry begins although commands of the attempt before are not stored yet", 26, [
    processor("invoker-host.ts"),
    '    this.#group.post({ kind: "barrier", passed: callback });\n',
    "    queueMicrotask(callback);\n",
  ]),
  plant("signal-lost", "Signals to other invocations get lost on the way", 1, [
    partition("journal/perform-action.ts"),
    '      return out.send({ kind: "signal", id: action.to, signal: action.signal, result: action.result });\n',
    "      return;\n",
  ]),
  plant("wake-up-lost", "A suspension ignores all that was stored while it was on its way", 1, [
    partition("invocation/attempt.ts"),
    "const unseen = invocation.journal.notifications - command.receivedNotificationCount;",
    "const unseen = 0 * command.receivedNotificationCount;",
  ]),
  plant(
    "stopped-run-goes-on",
    "A run that was stopped continues, and what it says counts as said by the present one",
    51,
    [invoker("run.ts"), "return hasEnded ? this.#finish() : this.abandon();", "return hasEnded ? this.#finish() : undefined;"],
    [
      partition("invocation/attempt.ts"),
      'invocation.status === "invoked" && invocation.run === command.run',
      'invocation.status === "invoked"',
    ],
  ),
  plant("blocked-handlers-keep-slots", "Handlers that are blocked keep their slots, whatever waits for one", 2, [
    invoker("slots.ts"),
    "    } else this.#pressure ??= this.#clock.setTimer(SLOT_PRESSURE_INTERVAL_MS, this.#relieve);\n",
    "    } else void this.#relieve;\n",
  ]),
  plant("slot-leaked", "Every third invocation of a scope never gives its slot back", 6, [
    processor("flow/flow-control.ts"),
    '      case "releaseSlot":\n',
    '      case "releaseSlot":\n        if (effect.id.charCodeAt(24) % 3 === 0) return;\n',
  ]),
  plant("running-not-counted", "A new leader does not count who of a scope runs already", 18, [
    processor("flow/flow-control.ts"),
    'if (invocation.status === "invoked") flow.scheduler.started(subjectOf(invocation.facts));',
    'if (invocation.status === "invoked") void flow;',
  ]),
  plant("buckets-full-at-restart", "A new leader begins with full buckets", 190, [
    flow("limit-tree.ts"),
    "    node.bookedUntilMicros = bookedUntilMicros;\n",
    "    node.bookedUntilMicros = 0 * bookedUntilMicros;\n",
  ]),
  plant("heavy-key-first", "One key of a scope is served first, whatever its share", 514, [
    flow("tree.ts"),
    "    this.weight = this.rule?.weight ?? 1;\n",
    '    this.weight = this.l1 === "a" && this.l2 === undefined ? 1_000_000 : (this.rule?.weight ?? 1);\n',
  ]),
  plant("resume-unheard", "A queue that is resumed stays paused for who waits in it", 14, [
    flow("scheduler.ts"),
    "    else this.#paused.delete(id);\n",
    "    else return;\n",
  ]),
  plant(
    "empty-store-is-led",
    "A store that came back empty is taken for that of a new environment",
    24,
    [
      "libs/testing/simulator/src/workers/medium.ts",
      "  get isForeign(): boolean {\n    return this.#isEmptied;\n",
      "  get isForeign(): boolean {\n    return false;\n",
    ],
    [
      "libs/testing/simulator/src/workers/medium.ts",
      "    this.#isEmptied = true;\n",
      "    this.#isEmptied = true;\n    this.#leases.clear();\n",
    ],
  ),
  plant("dedup-lost-at-hand-over", "A new leader does not know which messages the one before has taken", 8, [
    processor("view/row-cache.ts"),
    "        return keep(row, row.value);\n",
    '        return keep(row, row.kind === "dedup" ? undefined : row.value);\n',
  ]),
  plant(
    "rows-of-last-term",
    "A worker that leads again believes the rows of the time before",
    196,
    [
      processor("view/row-cache.ts"),
      "export class RowCache implements SyncReads {\n",
      "const YOUNG = new WeakMap();\n\nexport class RowCache implements SyncReads {\n",
    ],
    [
      processor("view/row-cache.ts"),
      "    this.#store = store;\n",
      "    this.#store = store;\n    const all = YOUNG.get(store) ?? new Map();\n    YOUNG.set(store, all);\n" +
        "    this.#young = all.get(partition) ?? this.#young;\n    all.set(partition, this.#young);\n",
    ],
  ),
  plant("row-missed-by-prefetch", "Some invocation that was fetched counts as absent", 4, [
    processor("view/row-cache.ts"),
    "        return keep(row, row.value);\n",
    '        return keep(row, row.kind === "invocation" && row.id.charCodeAt(24) % 8 === 0 ? undefined : row.value);\n',
  ]),
  plant("redirected-is-new", "What was sent once more after a redirection counts as new", 84, [
    "libs/adapters/grpc/src/server.ts",
    "isFirst ? command : { ...command, resubmission: true }",
    "isFirst ? command : { ...command }",
  ]),
  plant("reads-ignore-the-mark", "Reads do not compare the mark of the data set", 124, [
    "libs/ports/storage/src/lead-check.ts",
    'if (lead.mark !== "" && stored.mark !== lead.mark)',
    "if (stored.mark !== lead.mark) return;\n  if (stored.mark === undefined)",
  ]),
  plant("kept-rows-not-updated", "Rows that the leader keeps do not take up what it wrote", 4, [
    processor("turn/ready-batch.ts"),
    "    leader.cache?.applyDurable(present(batches[index]).mutations);\n",
    "    void index;\n",
  ]),
  inDebouncedWorlds(
    "late-request-begins-a-burst",
    "A debounced request that is sent again after its burst has begun begins another",
    68,
    [
      partition("invocation/debounce.ts"),
      "  const repeated = burstOfRepeated(stored, command);\n",
      '  const repeated = view.invocation(stored.bursts[0].id)?.status === "scheduled" ? burstOfRepeated(stored, command) : undefined;\n',
    ],
  ),
  inDebouncedWorlds(
    "debounced-input-stays",
    "A burst starts with the input of its first request",
    1,
    [partition("invocation/debounce.ts"), "  const [, ...signals] = view", "  const [first, ...signals] = view"],
    [partition("invocation/debounce.ts"), "body: input, appended", "body: first?.body ?? input, appended"],
  ),
  ...PLANTED_THROTTLE_BUGS,
  ...PLANTED_UNDO_BUGS,
  ...PLANTED_THREAD_BUGS,
  ...PLANTED_ATTACH_BUGS,
];

/** A plugin of esbuild that plants the bug. Rejects when one of its texts is not in its module exactly once. */
export async function planting({ name, edits }, root) {
  const planted = new Map();
  for (const { file, find, replacement } of edits) {
    const path = join(root, file);
    const source = planted.get(path) ?? (await readFile(path, "utf8"));
    const count = source.split(find).length - 1;
    if (count !== 1) throw new Error(`${name}: the text to replace is ${count} times in ${file}: ${JSON.stringify(find)}`);
    planted.set(
      path,
      source.replace(find, () => replacement),
    );
  }
  return {
    name: `planted-${name}`,
    setup(bundler) {
      bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = planted.get(path);
        return contents === undefined ? undefined : { contents, loader: "ts" };
      });
    },
  };
}
