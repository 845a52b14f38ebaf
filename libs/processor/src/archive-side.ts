/**
 * Why: a leader's dealings with what left its store. Letters that need an answer of the archive go aside and come back with it; what was
 * archived leaves the store; what is forgotten is noted until the archive has forgotten it too.
 */
import {
  backoffMs,
  bytesEqual,
  type Clock,
  EMPTY_BYTES,
  type InvocationId,
  type Logger,
  PerdureError,
  type Random,
} from "@perdure/base";
import type { Completed, PartitionCommand } from "@perdure/partition";
import { type Archive, type ArchivedLife, type ArchiveRecord, encodeInvocation, FORGOTTEN, purgeTimer } from "@perdure/store";
import { ArchiveDesk, asksArchive, changesCompleted, type FoundInArchive } from "./archive-desk.js";
import { ARCHIVED_IDS, ArchivedIds, COMPLETE } from "./archived-ids.js";
import { evictionOf } from "./eviction.js";
import type { GroupCommit } from "./group-commit.js";
import type { Led, LedPartitionTable } from "./led.js";
import { type Letter, type LetterOf, NOTHING } from "./letter.js";
import { LEARN_AGAIN_BOUNDS } from "./limits.js";
import type { LiveView } from "./live-view.js";
import type { Waiters } from "./waiters.js";

export interface ArchiveSidePorts {
  readonly archive: Archive;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly logger: Logger;
  readonly led: LedPartitionTable;
  readonly commits: GroupCommit;
  readonly waiters: Waiters;
  readonly isClosed: () => boolean;
  /** Into the mailbox. */
  readonly post: (letter: Letter) => void;
  /** At once. */
  readonly open: (letter: Letter) => void;
  /** As `Applier.read`. */
  readonly read: <T>(led: Led, letter: Letter, read: (view: LiveView) => T) => T | undefined;
}

type Entries = ReadonlyMap<string, Uint8Array>;

export class ArchiveSide {
  readonly #ports: ArchiveSidePorts;
  readonly #desk: ArchiveDesk<Letter>;
  readonly #ids = new Map<number, ArchivedIds>();
  /** Archivers that wait for an eviction. */
  readonly #evicting = new Set<(count: number) => void>();
  /** Who reads the archive to learn what is in it, and waits for room. */
  readonly #learning = new Set<() => void>();
  /** Retention timers whose commands wait for the archive, and who wants to hear when there are none. */
  #timersAside = 0;
  #timersDone: (() => void)[] = [];

  constructor(ports: ArchiveSidePorts) {
    this.#ports = ports;
    this.#desk = new ArchiveDesk({
      archive: ports.archive,
      clock: ports.clock,
      random: ports.random,
      answered: (id, letters, found) => this.#answered(id, letters, found),
      // Whoever asked about it hears that there is no answer now.
      unavailable: (id, letters, reason) => {
        if (letters.length > 0) ports.waiters.abandon((each) => each === id, reason);
      },
      isHeard: (letter) => letter.kind === "inspect" || (letter.kind === "command" && letter.command.kind !== "timerFired"),
    });
  }

  /** What leaders before us have noted, as it is stored under `FORGOTTEN` and `ARCHIVED_IDS`. */
  recover(partition: number, notes: { readonly forgotten: Entries; readonly ids: Entries }): void {
    this.#desk.recover(partition, notes.forgotten.keys());
    const ids = new ArchivedIds(notes.ids);
    this.#ids.set(partition, ids);
    if (!ids.isComplete) void this.#learn(partition);
  }

  close(): void {
    this.#desk.close();
    for (const resolve of this.#evicting) resolve(-1);
    this.#evicting.clear();
    for (const resolve of this.#learning) resolve();
    this.#learning.clear();
  }

  // ── letters that need an answer ────────────────────────────────────────────────────────────────

  /** Whether the letter leaves the turn: until its invocation's row is here, or until the archive has answered. */
  goesAside(led: Led, letter: LetterOf<"command" | "owed">, command: PartitionCommand, isAnswered: boolean): boolean {
    const desk = this.#desk;
    if (!asksArchive(command, isAnswered) || desk.isChecked(letter)) return false;
    const found = this.#ports.read(led, letter, (view) => ({ invocation: view.invocation(command.id) }));
    if (found === undefined) return true;
    if (found.invocation !== undefined || this.#wasNeverArchived(led.view.partition, command)) return false;
    if (letter.kind === "owed") desk.hold(letter.producer);
    if (command.kind === "timerFired") this.#timersAside++;
    desk.ask(command.id, letter, command.kind === "restartAsNew");
    return true;
  }

  /** The same for a question about what the store does not have. */
  asksAbout(letter: LetterOf<"inspect">): boolean {
    const partition = this.#ports.led.of(letter.id)?.view.partition;
    if (this.#desk.isChecked(letter) || (partition !== undefined && !this.#mayBeArchived(partition, letter.id))) return false;
    this.#desk.ask(letter.id, letter, false);
    return true;
  }

  /** What may end a life asks in any case: its fingerprint may be gone before it. */
  #wasNeverArchived(partition: number, command: PartitionCommand): boolean {
    return !changesCompleted(command) && !this.#mayBeArchived(partition, command.id);
  }

  /** Behind a question about it there is an order to be kept. */
  #mayBeArchived(partition: number, id: InvocationId): boolean {
    return this.#desk.isAsked(id) || this.#ids.get(partition)?.mayHave(id) !== false;
  }

  /** True: the message waits behind an earlier one of its producer, which is aside. */
  waitsBehind(letter: LetterOf<"owed">): boolean {
    return !this.#desk.isChecked(letter) && this.#desk.waitsBehind(letter.producer, letter);
  }

  /** Calls back when no retention timer that fired waits for the archive any more. */
  whenTimersAreIn(done: () => void): void {
    if (this.#timersAside === 0) done();
    else this.#timersDone.push(done); // Not durable yet: they would be found again.
  }

  #answered(id: InvocationId, letters: readonly Letter[], found: FoundInArchive | undefined): void {
    const { clock, commits, led: all, open, post } = this.#ports;
    const led = all.of(id);
    if (led === undefined || this.#ports.isClosed()) return;
    led.view.nowMs = clock.nowMs();
    if (found !== undefined) led.cache?.show(found.invocation, found.entries);
    for (const letter of letters) {
      open(letter);
      if (letter.kind === "command" && letter.command.kind === "timerFired") this.#timersAside--;
    }
    if (found !== undefined) open({ kind: "hide", invocation: found.invocation, entryCount: found.entries.length });
    for (const letter of letters) {
      if (letter.kind !== "owed") continue;
      for (const next of this.#desk.release(letter.producer)) open(next);
    }
    if (this.#timersAside === 0) for (const done of this.#timersDone.splice(0)) post({ kind: "barrier", passed: done });
    commits.write();
  }

  // ── what leaves, and what is forgotten ─────────────────────────────────────────────────────────

  /** A completed invocation was forgotten, or changed: the archive may still have it as it was. */
  noteChange(view: LiveView, before: Completed): void {
    const after = view.invocation(before.facts.id);
    if (after === before) return;
    if (after?.status === "completed") {
      // It is kept here again, and archived again in time; the timer went when it was archived.
      const timer = purgeTimer(after);
      view.mutate({ kind: "putTimer", timer });
      view.effect({ kind: "armTimer", timer });
    } else {
      const stateKey = this.#desk.forget(view.partition, before);
      view.mutate({ kind: "putState", ...FORGOTTEN, stateKey, value: EMPTY_BYTES });
      this.#ports.commits.wish(() => this.#desk.noted(stateKey));
    }
  }

  /** Resolves with how many are gone when that is durable; with −1 when the processor stopped before. */
  evictLater(partition: number, records: readonly ArchiveRecord[]): Promise<number> {
    return new Promise((resolve) => {
      this.#evicting.add(resolve);
      const evicted = (count: number): void => {
        this.#evicting.delete(resolve);
        resolve(count);
      };
      this.#ports.post({ kind: "evict", partition, records, evicted });
    });
  }

  evict(letter: LetterOf<"evict">): void {
    const { commits, led: all, read } = this.#ports;
    const led = all.get(letter.partition);
    if (led === undefined || led.stopped !== undefined) return letter.evicted(0);
    if (led.blocked !== undefined) return led.blocked.push(letter);
    const { view } = led;
    const present = read(led, letter, () => letter.records.map(({ id }) => view.invocation(id)));
    if (present === undefined) return;
    const evicted: InvocationId[] = [];
    for (const [index, { id, row, retainedUntilMs }] of letter.records.entries()) {
      const invocation = present[index];
      if (invocation?.status !== "completed" || !bytesEqual(encodeInvocation(invocation), row)) continue;
      for (const mutation of evictionOf(invocation)) view.mutateUnseen(mutation);
      evicted.push(id);
      this.#ids.get(letter.partition)?.add(id, retainedUntilMs);
    }
    this.#keepIds(view);
    view.accept(NOTHING, NOTHING);
    this.#desk.moved(evicted);
    commits.wish(() => letter.evicted(evicted.length));
  }

  /** With the batch under way. */
  #keepIds(view: LiveView): void {
    const ids = this.#ids.get(view.partition);
    if (ids === undefined) return;
    for (const stateKey of ids.expire(view.nowMs)) view.mutate({ kind: "deleteState", ...ARCHIVED_IDS, stateKey });
    for (const [stateKey, value] of ids.changed()) view.mutate({ kind: "putState", ...ARCHIVED_IDS, stateKey, value });
  }

  /** Reads what was archived before anybody took fingerprints: nothing, in a partition that is new. Never rejects. */
  async #learn(partition: number): Promise<void> {
    const { archive, clock, random, logger, isClosed } = this.#ports;
    try {
      for await (const lives of archive.scan({ partition })) {
        if (isClosed()) return;
        await this.#learnt(partition, lives, false); // One page at a time, however long the turns take.
      }
      if (!isClosed()) await this.#learnt(partition, [], true);
    } catch (cause) {
      if (isClosed()) return;
      const reason = PerdureError.from(cause).detail;
      logger.warn({ partition, reason }, "what was archived is not known yet: calls with keys wait for the archive");
      clock.setTimer(backoffMs(0, LEARN_AGAIN_BOUNDS, random), () => void (isClosed() || this.#learn(partition)));
    }
  }

  /** Resolves when the page is taken, or nobody will take it any more. */
  #learnt(partition: number, lives: readonly ArchivedLife[], isAll: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#learning.add(resolve);
      const taken = (): void => {
        this.#learning.delete(resolve);
        resolve();
      };
      this.#ports.post({ kind: "learnt", partition, lives, isAll, taken });
    });
  }

  learnt({ partition, lives, isAll, taken }: LetterOf<"learnt">): void {
    taken();
    const view = this.#ports.led.get(partition)?.view;
    const ids = this.#ids.get(partition);
    if (view === undefined || ids === undefined) return;
    for (const { id, retainedUntilMs } of lives) ids.add(id, retainedUntilMs);
    this.#keepIds(view);
    if (isAll) {
      ids.complete();
      view.mutate({ kind: "putState", ...ARCHIVED_IDS, stateKey: COMPLETE, value: EMPTY_BYTES });
    }
    view.accept(NOTHING, NOTHING);
  }

  /** Lives forgotten here that the archive must forget, at most `limit`. */
  forgottenLives(partition: number, limit: number): readonly ArchivedLife[] {
    return this.#desk.forgotten(partition, limit);
  }

  /** The archive has forgotten them. */
  forgottenInArchive(partition: number, lives: readonly ArchivedLife[]): void {
    // Not later: the next question about which lives are left must not name them again.
    for (const life of lives) this.#desk.isForgottenThere(partition, life);
    this.#ports.post({ kind: "forgottenThere", partition, lives });
  }

  forgottenThere({ partition, lives }: LetterOf<"forgottenThere">): void {
    const view = this.#ports.led.get(partition)?.view;
    if (view === undefined) return;
    for (const life of lives)
      view.mutate({ kind: "deleteState", ...FORGOTTEN, stateKey: this.#desk.isForgottenThere(partition, life) });
    view.accept(NOTHING, NOTHING);
  }
}
