/**
 * Runs the turns of the processor. A turn takes all messages that arrived, up to a limit that keeps sockets and timers from starving.
 * With a local store nothing is loaded; behind a network, the rows that the queued messages are certain to read are fetched in one
 * round trip before the messages are applied.
 */
import { type Clock, Ring } from "@perdure/base";
import { type RowKey, rowName, rowsFor } from "@perdure/storage";
import type { LeaderPartition, LeaderPartitionTable } from "../leader-partition.js";
import {
  MAILBOX_BYTES_MAX,
  MAILBOX_COMMANDS_MAX,
  PENDING_BYTES_MAX,
  PENDING_MUTATIONS_MAX,
  TURN_CLOCK_COMMANDS,
  TURN_COMMANDS_MAX,
  TURN_MS_MAX,
} from "../limits.js";
import type { ProcessorCounters } from "../ports.js";
import type { RowCache } from "../view/row-cache.js";
import type { GroupCommit } from "./group-commit.js";
import { bytesOf, type MailboxMessage } from "./mailbox-message.js";

export interface MailboxPorts {
  readonly leaderPartitions: LeaderPartitionTable;
  readonly clock: Clock;
  /** As `ProcessorPorts.soon`. */
  readonly soon: (task: () => void) => void;
  readonly isClosed: () => boolean;
  readonly open: (message: MailboxMessage) => void;
  /** `commands` counts the applied commands: one message may carry many. */
  readonly counters: Pick<ProcessorCounters, "commands">;
  readonly commits: GroupCommit;
  readonly failed: (cause: unknown) => void;
}

export class Mailbox {
  readonly #ports: MailboxPorts;
  readonly #messages = new Ring<MailboxMessage>();
  #bytes = 0;
  #isScheduled = false;
  /** Rows for the next turn are being fetched. */
  #isFetching = false;
  /** Keys of rows that were fetched for the next turn, so that none is fetched twice. */
  readonly #fetched = new Set<string>();

  constructor(ports: MailboxPorts) {
    this.#ports = ports;
  }

  /** Whether new work should be refused for now. */
  get isFull(): boolean {
    return this.#messages.length >= MAILBOX_COMMANDS_MAX || this.#bytes >= MAILBOX_BYTES_MAX;
  }

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  post(message: MailboxMessage): void {
    if (this.#ports.isClosed()) return;
    this.#messages.push(message);
    this.#bytes += bytesOf(message);
    this.schedule();
  }

  clear(): void {
    this.#messages.clear();
  }

  /** Schedules a turn unless one is scheduled. */
  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.soon(() => this.turn());
  }

  /** Applies the queued messages, or begins to fetch the rows that they need and runs again when these are loaded. */
  turn(): void {
    this.#isScheduled = false;
    const { leaderPartitions: all, commits, counters, open } = this.#ports;
    if (this.#ports.isClosed() || this.#isFetching || this.#fetch()) return;
    const { clock } = this.#ports;
    const nowMs = clock.nowMs();
    const endMs = clock.monotonicMs() + TURN_MS_MAX;
    let pendingBytes = 0;
    for (const leader of all.values()) {
      leader.view.nowMs = nowMs;
      pendingBytes += leader.view.mutationBytes;
    }
    let isBatchFull = this.#isBatchFull();
    const commandsMax = counters.commands + TURN_COMMANDS_MAX;
    let checkedAt = counters.commands;
    for (let opened = 0; opened < TURN_COMMANDS_MAX && pendingBytes < PENDING_BYTES_MAX && !isBatchFull; opened++) {
      if (counters.commands >= commandsMax) break;
      const message = this.#messages.shift();
      if (message === undefined) break;
      const bytes = bytesOf(message);
      this.#bytes -= bytes;
      pendingBytes += bytes;
      open(message);
      if (opened % TURN_CLOCK_COMMANDS !== TURN_CLOCK_COMMANDS - 1 && counters.commands - checkedAt < TURN_CLOCK_COMMANDS)
        continue;
      checkedAt = counters.commands;
      isBatchFull = this.#isBatchFull();
      if (clock.monotonicMs() >= endMs) break;
    }
    const mustWait = pendingBytes >= PENDING_BYTES_MAX || isBatchFull;
    commits.write();
    if (!this.isEmpty && !(commits.isWriting && mustWait)) this.schedule();
  }

  /** Whether as much is applied as one batch should hold. */
  #isBatchFull(): boolean {
    let count = 0;
    for (const { view } of this.#ports.leaderPartitions.values()) count += view.mutationCount;
    return count >= PENDING_MUTATIONS_MAX;
  }

  /** Whether rows that the queued messages will read must be fetched first; the turn runs again when they are loaded. */
  #fetch(): boolean {
    const fetches: Promise<void>[] = [];
    for (const leader of this.#ports.leaderPartitions.values()) {
      if (leader.cache === undefined) return false;
      const missing = this.#missing(leader, leader.cache);
      if (missing.length > 0) fetches.push(leader.cache.fetch(missing));
    }
    if (fetches.length === 0) {
      if (this.#fetched.size > 0) this.#fetched.clear();
      return false;
    }
    this.#isFetching = true;
    Promise.all(fetches).then(
      () => {
        this.#isFetching = false;
        this.turn();
      },
      (cause: unknown) => {
        this.#isFetching = false;
        this.#ports.failed(cause);
      },
    );
    return true;
  }

  /** Returns the rows that the messages are certain to read and that are neither applied, nor cached, nor just fetched. */
  #missing(leader: LeaderPartition, cache: RowCache): RowKey[] {
    const all = this.#ports.leaderPartitions;
    const missing: RowKey[] = [];
    const addMissing = (key: RowKey): void => {
      // Whole states and promises are loaded by `NeedsLoad` instead.
      if (key.kind === "stateOf" || key.kind === "promisesOf" || leader.view.hasApplied(key) || cache.has(key)) return;
      const name = rowName(key);
      if (this.#fetched.has(name)) return;
      this.#fetched.add(name);
      missing.push(key);
    };
    let count = 0;
    for (const message of this.#messages) {
      if (++count > TURN_COMMANDS_MAX) break;
      if (message.kind === "evict") {
        if (all.get(message.partition) !== leader) continue;
        for (const { id } of message.records) addMissing({ kind: "invocation", id });
      } else if (message.kind === "inspect") {
        if (all.of(message.id) === leader) addMissing({ kind: "invocation", id: message.id });
      } else if (message.kind === "command" || message.kind === "delivery") {
        const { id } = message.command;
        if (all.of(id) !== leader) continue;
        if (message.kind === "delivery") addMissing({ kind: "dedup", producer: message.producer });
        const existing = leader.view.appliedInvocation(id) ?? cache.peekInvocation(id);
        for (const key of rowsFor(message.command, existing)) addMissing(key);
      }
    }
    return missing;
  }
}
