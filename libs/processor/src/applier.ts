/**
 * Why: opens letters one after the other: applies their commands to the partition as it is now, and lets those wait whose rows are not
 * here. What waits keeps its place: nothing overtakes it in its partition.
 */
import { InvariantError, type InvocationId, type Logger, Ring, unreachable } from "@perdure/base";
import { type Answer, apply, type LoadRequest, NeedsLoad, type PartitionCommand } from "@perdure/partition";
import type { AsyncPartitionStore, PartitionStore } from "@perdure/store";
import { asksArchive, changesCompleted } from "./archive-desk.js";
import type { ArchiveSide } from "./archive-side.js";
import type { GroupCommit } from "./group-commit.js";
import type { Led, LedPartitionTable } from "./led.js";
import { type Letter, type LetterOf, NOTHING } from "./letter.js";
import { SENT_AT_ONCE_MAX } from "./limits.js";
import type { LiveView, Loaded } from "./live-view.js";
import type { OwedLetters } from "./owed-letters.js";
import type { ProcessorCounters } from "./ports.js";
import { MissingRow } from "./row-cache.js";
import type { Waiters } from "./waiters.js";

export interface ApplierPorts {
  readonly store: PartitionStore | AsyncPartitionStore;
  readonly led: LedPartitionTable;
  readonly commits: GroupCommit;
  /** Undefined: what the store does not have is nowhere. */
  readonly archive: ArchiveSide | undefined;
  readonly owed: OwedLetters;
  readonly waiters: Waiters;
  readonly counters: ProcessorCounters;
  readonly logger: Logger;
  readonly isClosed: () => boolean;
  readonly failed: (cause: unknown) => void;
}

type Reply = ((answer: Answer) => void) | undefined;

export class Applier {
  readonly #ports: ApplierPorts;
  readonly #led: LedPartitionTable;
  readonly #commits: GroupCommit;
  readonly #archive: ArchiveSide | undefined;
  /** Messages of the present letter that were applied at once. */
  #sentAtOnce = 0;

  constructor(ports: ApplierPorts) {
    this.#ports = ports;
    this.#led = ports.led;
    this.#commits = ports.commits;
    this.#archive = ports.archive;
  }

  open(letter: Letter): void {
    this.#sentAtOnce = 0;
    switch (letter.kind) {
      case "command": {
        const led = this.#led.of(letter.command.id);
        if (led === undefined) return;
        return this.#apply(led, ofOne(led, letter.command), letter.reply, letter, undefined);
      }
      case "owed":
        return this.#applyOwed(letter);
      case "inspect":
        return this.#inspect(letter);
      case "barrier": {
        // What was submitted before it may wait for rows in any partition; it waits behind that.
        for (const led of this.#led.values()) if (led.blocked !== undefined) return led.blocked.push(letter);
        return this.#commits.wish(letter.passed);
      }
      case "evict":
        return this.#archive === undefined ? letter.evicted(0) : this.#archive.evict(letter);
      case "forgottenThere":
        return this.#archive?.forgottenThere(letter);
      case "learnt":
        return this.#archive?.learnt(letter);
      case "hide": {
        const led = this.#led.of(letter.invocation.facts.id);
        if (led?.blocked !== undefined) return led.blocked.push(letter);
        return led?.cache?.hide(letter.invocation.facts.id, letter.entryCount);
      }
      case "acknowledged": {
        const view = this.#led.get(letter.partition)?.view;
        view?.mutate({ kind: "deleteOutbox", seq: letter.seq });
        return view?.accept(NOTHING, NOTHING);
      }
    }
  }

  /** Reads for a letter; undefined when the partition keeps the letter until the row is here. */
  read<T>(led: Led, letter: Letter, read: (view: LiveView) => T): T | undefined {
    try {
      return read(led.view);
    } catch (cause) {
      if (!(cause instanceof MissingRow)) throw cause;
      this.#block(led, cause, letter);
      return undefined;
    }
  }

  #inspect(letter: LetterOf<"inspect">): void {
    const led = this.#led.of(letter.id);
    if (led?.blocked !== undefined) return led.blocked.push(letter);
    if (led === undefined || led.stopped !== undefined) return this.#commits.wish(() => letter.tell(undefined));
    const found = this.read(led, letter, (view) => ({ invocation: view.invocation(letter.id) }));
    if (found === undefined) return;
    if (found.invocation === undefined && this.#archive?.asksAbout(letter) === true) return;
    this.#commits.wish(() => letter.tell(found.invocation));
  }

  #applyOwed(letter: LetterOf<"owed">): void {
    const { owed } = this.#ports;
    const led = this.#led.of(letter.command.id);
    if (led === undefined || led.stopped !== undefined) return;
    if (led.blocked !== undefined) return led.blocked.push(letter);
    if (this.#archive?.waitsBehind(letter) === true) return;
    const seen = this.read(led, letter, (view) => view.dedup(letter.producer));
    if (seen === undefined) return;
    if (letter.after !== undefined && seen < letter.after) return owed.refuse(letter);
    if (letter.seq > seen) {
      if (this.#archive?.goesAside(led, letter, letter.command, false) === true) return;
      this.#apply(led, letter.command, undefined, letter, (view) =>
        view.mutate({ kind: "putDedup", producer: letter.producer, seq: letter.seq }),
      );
      if (led.blocked !== undefined) return; // Not applied yet: it waits in front of the blocked letters.
    }
    this.#commits.wish(() => owed.delivered(letter));
  }

  /** Applies the command of a letter; a partition that waits for rows keeps the letter. */
  #apply(
    led: Led,
    command: PartitionCommand,
    reply: Reply,
    letter: LetterOf<"command" | "owed">,
    also: ((view: LiveView) => void) | undefined,
  ): void {
    if (led.stopped !== undefined) return;
    if (led.blocked !== undefined) return led.blocked.push(letter);
    if (letter.kind === "command" && this.#archive?.goesAside(led, letter, command, reply !== undefined) === true) return;
    const needs = this.#tryApply(led, command, reply, also);
    if (needs !== undefined) this.#block(led, needs, letter);
  }

  /** One command and, in the same batch, the messages it sends to partitions that are led here too. */
  #tryApply(
    led: Led,
    command: PartitionCommand,
    reply: Reply,
    also: ((view: LiveView) => void) | undefined,
  ): NeedsLoad | MissingRow | undefined {
    const { view } = led;
    this.#ports.counters.commands++;
    try {
      const before = this.#archive !== undefined && changesCompleted(command) ? view.invocation(command.id) : undefined;
      apply(view, command, view);
      also?.(view);
      if (before?.status === "completed") this.#archive?.noteChange(view, before);
    } catch (cause) {
      view.takeBack();
      if (cause instanceof NeedsLoad || cause instanceof MissingRow) return cause;
      this.#stop(led, cause);
      return undefined;
    }
    view.accept(
      (effect) => this.#commits.wish({ effect, reply }),
      (sent) => this.#route(led, sent),
    );
    return undefined;
  }

  /**
   * To a partition led here: the same batch. To any other, to one that cannot take it at once, and what is too much at once: through the
   * outbox, which survives us. While the outbox owes a partition something, later messages queue behind it to keep their order.
   */
  #route(from: Led, command: PartitionCommand): void {
    const partition = this.#led.partitionOf(command.id);
    const to = this.#led.get(partition);
    // What may have to wait for the archive takes the way on which that is possible.
    const mayWait = (this.#archive !== undefined && asksArchive(command, false)) || this.#sentAtOnce >= SENT_AT_ONCE_MAX;
    if (to !== undefined && to.blocked === undefined && to.stopped === undefined && !from.outbox.owesTo(partition) && !mayWait) {
      this.#sentAtOnce++;
      if (this.#tryApply(to, command, undefined, undefined) === undefined && to.stopped === undefined) return;
    }
    const message = { seq: from.outbox.nextSeq(partition), command };
    from.view.mutate({ kind: "putOutbox", message });
    from.view.accept(NOTHING, NOTHING);
    this.#commits.wish(() => from.outbox.owe(message, partition));
  }

  // ── waiting for rows ───────────────────────────────────────────────────────────────────────────

  /** Rows are missing: read them, then go on where it stopped. */
  #block(led: Led, needs: NeedsLoad | MissingRow, letter: Letter): void {
    const blocked = new Ring<Letter>();
    blocked.push(letter);
    led.blocked = blocked;
    const read = async (): Promise<void> => {
      if (needs instanceof MissingRow) await led.cache?.fetch([needs.key]);
      else await this.#loadWhole(led, needs);
      led.blocked = undefined;
      if (this.#ports.isClosed()) return;
      // Opening the first one may block again; the others keep their place behind it.
      for (let next = blocked.shift(); next !== undefined; next = blocked.shift()) this.open(next);
      this.#commits.write();
    };
    read().catch(this.#ports.failed);
  }

  /** All rows of a kind, as they are when everything applied is durable. */
  async #loadWhole({ view }: Led, { request }: NeedsLoad): Promise<void> {
    while (!view.isSettled) {
      if (this.#ports.isClosed()) return;
      await new Promise<void>((resolve) => this.#commits.whenIdle(resolve));
    }
    view.load(await this.#rowsOf(view.partition, request));
  }

  async #rowsOf(partition: number, request: LoadRequest): Promise<Loaded> {
    const { store } = this.#ports;
    switch (request.kind) {
      case "stateOf":
        return { ...NO_ROWS, request, state: await store.stateOf(partition, request.service, request.key) };
      case "promisesOf":
        return { ...NO_ROWS, request, names: await store.promisesOf(partition, request.service, request.key) };
      case "journalOf":
        return { ...NO_ROWS, request, entries: await store.readJournal(partition, request.id, request.length) };
      default:
        return unreachable(request);
    }
  }

  /** A broken invariant stops its partition and no other. */
  #stop(led: Led, cause: unknown): void {
    const { partition } = led.view;
    const error =
      cause instanceof InvariantError
        ? cause
        : new InvariantError(cause instanceof Error ? (cause.stack ?? cause.message) : String(cause));
    led.stopped = error;
    const { logger, waiters, owed } = this.#ports;
    logger.error({ partition, error: error.message, stack: error.stack }, "an invariant is broken; this partition stops");
    const isOfIt = (id: InvocationId): boolean => this.#led.partitionOf(id) === partition;
    waiters.abandon(isOfIt, "the partition has stopped");
    owed.refuseAll(({ command }) => isOfIt(command.id));
  }
}

/**
 * In a cluster a request may arrive after its own repetition: its sender gave a connection up whose bytes were still on their way.
 * Random ids are not looked up when they come for the first time, but what is at hand is known.
 */
function ofOne(led: Led, command: PartitionCommand): PartitionCommand {
  if (command.kind !== "invoke" || command.resubmission === true || led.cache === undefined) return command;
  const known = led.view.appliedInvocation(command.id) ?? led.cache.peekInvocation(command.id);
  return known === undefined ? command : { ...command, resubmission: true };
}

const NO_ROWS: Omit<Loaded, "request"> = { state: new Map(), names: [], entries: [] };
