/** Bugs of a process with several threads; each is found in worlds with `THREADS=1`. */
import { plant, processor } from "./plant.mjs";

const inThreadedWorlds = (...bug) => ({ ...plant(...bug), isThreaded: true });

export const PLANTED_THREAD_BUGS = [
  inThreadedWorlds("thread-sends-before-commit", "A message to another partition leaves before its commit", 1, [
    processor("turn/command-applier.ts"),
    '    this.#group.afterCommit({ kind: "send", leader: from, message, to: partition });\n',
    "    from.outbox.send(message, partition);\n",
  ]),
  inThreadedWorlds("thread-skips-a-refused-message", "A thread accepts a message without the refused one before it", 7, [
    processor("turn/command-applier.ts"),
    "    if (message.after !== undefined && lastSeq < message.after) return deliveries.refuse(message);\n",
    "",
  ]),
  inThreadedWorlds("thread-delivers-to-itself", "Messages to other threads are delivered to the thread itself", 1, [
    processor("outbox/subset-peers.ts"),
    "this.#own.hasId(command.id) ? this.#loopback : this.#elsewhere",
    "this.#own.hasId(command.id) || this.#elsewhere ? this.#loopback : this.#elsewhere",
  ]),
  inThreadedWorlds(
    "thread-keeps-its-own-messages",
    "Messages to a thread's own partitions that a crash left are not delivered",
    350,
    [processor("outbox/loopback-peers.ts"), "    for (const send of early) send();\n", "    void early;\n"],
  ),
];
