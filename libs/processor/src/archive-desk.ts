/**
 * What has left the store for the archive is asked for here, beside the turn: only the commands that need an answer wait for it, and
 * only those whose invocation the store does not have. Commands about one invocation share a question and keep their order, so that
 * each sees what the one before it did; messages of one producer keep theirs, because a later one counts as proof of the earlier.
 *
 * The desk also knows the lives that are forgotten here and may be archived still. What it finds of those counts as absent.
 */
import { backoffMs, type Clock, type InvocationId, PerdureError, type Random } from "@perdure/base";
import { type Completed, isWorkflowRun, type JournalEntry, type PartitionCommand } from "@perdure/partition";
import {
  type Archive,
  type ArchivedLife,
  decodeInvocation,
  forgottenName,
  parseForgottenName,
  retainedUntilMs,
} from "@perdure/store";
import { ARCHIVE_ASK_AGAIN_BOUNDS, ARCHIVE_ASKED_MAX, ARCHIVE_PAGE } from "./limits.js";

export interface FoundInArchive {
  readonly invocation: Completed;
  /** Read only when somebody asked for it. */
  readonly entries: readonly JournalEntry[];
}

/** A question under way, and who waits for its answer. */
interface Question<L> {
  readonly id: InvocationId;
  letters: L[];
  wantsJournal: boolean;
  /** Something went from the store to the archive since it was asked: the answer may be older than that. */
  isStale: boolean;
}

export interface ArchiveDeskPorts<L> {
  readonly archive: Archive;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  /** All letters about an invocation, in their order. */
  readonly answered: (id: InvocationId, letters: readonly L[], found: FoundInArchive | undefined) => void;
  /** Of letters whose sender waits for a word: there is none to be had. */
  readonly unavailable: (id: InvocationId, letters: readonly L[], reason: string) => void;
  /** Whether somebody hears that there is no answer; other letters are asked about again. */
  readonly isHeard: (letter: L) => boolean;
}

export class ArchiveDesk<L extends object> {
  readonly #ports: ArchiveDeskPorts<L>;
  readonly #questions = new Map<InvocationId, Question<L>>();
  #next: Question<L>[] = [];
  #isAsking = false;
  #lettersCount = 0;
  #isClosed = false;
  readonly #checked = new WeakSet<L>();
  /** Producers whose message waits, and what they sent after it. */
  readonly #held = new Map<string, L[]>();
  readonly #forgotten = new Map<number, Map<string, ArchivedLife>>();
  /** Names of those among them that are forgotten durably. */
  readonly #noted = new Set<string>();

  constructor(ports: ArchiveDeskPorts<L>) {
    this.#ports = ports;
  }

  // ── questions ──────────────────────────────────────────────────────────────────────────────────

  /** The letter's invocation is known to be in the archive or not: it need not be asked for. */
  isChecked(letter: L): boolean {
    return this.#checked.has(letter);
  }

  /** The letter waits until the archive has answered. */
  ask(id: InvocationId, letter: L, wantsJournal: boolean): void {
    if (this.#lettersCount >= ARCHIVE_ASKED_MAX && this.#ports.isHeard(letter))
      return this.#ports.unavailable(id, [letter], "too many questions wait for the archive");
    this.#lettersCount++;
    const known = this.#questions.get(id);
    if (known !== undefined) {
      known.letters.push(letter);
      if (wantsJournal && !known.wantsJournal) {
        known.wantsJournal = true;
        known.isStale = true; // The answer under way comes without.
      }
      return;
    }
    const question: Question<L> = { id, letters: [letter], wantsJournal, isStale: false };
    this.#questions.set(id, question);
    this.#enqueue(question);
  }

  /** Somebody waits for an answer about it. */
  isAsked(id: InvocationId): boolean {
    return this.#questions.has(id);
  }

  /** These left the store for the archive. */
  moved(ids: Iterable<InvocationId>): void {
    if (this.#questions.size === 0) return;
    for (const id of ids) {
      const question = this.#questions.get(id);
      if (question !== undefined) question.isStale = true;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#questions.clear();
    this.#held.clear();
    this.#next = [];
  }

  #enqueue(question: Question<L>): void {
    this.#next.push(question);
    if (this.#isAsking) return;
    this.#isAsking = true;
    // Whatever the turn asks goes together.
    queueMicrotask(() => this.#askNext());
  }

  #askNext(): void {
    const questions = this.#next.splice(0, ARCHIVE_PAGE);
    if (questions.length === 0 || this.#isClosed) {
      this.#isAsking = false;
      return;
    }
    for (const question of questions) question.isStale = false;
    this.#find(questions).then(
      (found) => {
        if (this.#isClosed) return;
        for (const question of questions) this.#settle(question, found.get(question.id));
        this.#askNext();
      },
      (cause: unknown) => {
        if (this.#isClosed) return;
        const reason = `the archive does not answer: ${PerdureError.from(cause).detail}`;
        for (const question of questions) this.#failed(question, reason);
        this.#askNext();
      },
    );
  }

  async #find(questions: readonly Question<L>[]): Promise<ReadonlyMap<InvocationId, FoundInArchive & ArchivedLife>> {
    const { archive, clock } = this.#ports;
    const found = new Map<InvocationId, FoundInArchive & ArchivedLife>();
    const wantsJournal = new Set(questions.filter((each) => each.wantsJournal).map(({ id }) => id));
    for (const { id, retainedUntilMs, expires, row } of await archive.find(questions.map((each) => each.id))) {
      if (expires && retainedUntilMs <= clock.nowMs()) continue;
      const invocation = decodeInvocation(row) as Completed;
      const entries = wantsJournal.has(id) ? await archive.journal(id) : [];
      if (wantsJournal.has(id) && entries.length !== invocation.journal.length)
        throw new PerdureError("STO0001", "the invocation changed while it was read");
      found.set(id, { id, retainedUntilMs, invocation, entries });
    }
    return found;
  }

  #settle(question: Question<L>, found: (FoundInArchive & ArchivedLife) | undefined): void {
    if (question.isStale) return this.#enqueueAgain(question);
    this.#questions.delete(question.id);
    this.#lettersCount -= question.letters.length;
    for (const letter of question.letters) this.#checked.add(letter);
    const isGone = found !== undefined && this.#isForgotten(found);
    this.#ports.answered(question.id, question.letters, isGone ? undefined : found);
  }

  #failed(question: Question<L>, reason: string): void {
    const { isHeard, unavailable, clock, random } = this.#ports;
    const told = question.letters.filter(isHeard);
    question.letters = question.letters.filter((letter) => !isHeard(letter));
    this.#lettersCount -= told.length;
    if (question.letters.length === 0) this.#questions.delete(question.id);
    else
      clock.setTimer(backoffMs(0, ARCHIVE_ASK_AGAIN_BOUNDS, random), () => {
        if (!this.#isClosed) this.#enqueue(question);
      });
    if (told.length > 0) unavailable(question.id, told, reason);
  }

  #enqueueAgain(question: Question<L>): void {
    this.#next.push(question);
  }

  // ── messages of a producer, in their order ─────────────────────────────────────────────────────

  hold(producer: string): void {
    if (!this.#held.has(producer)) this.#held.set(producer, []);
  }

  /** True: the letter waits behind an earlier one of its producer. */
  waitsBehind(producer: string, letter: L): boolean {
    const waiting = this.#held.get(producer);
    if (waiting === undefined) return false;
    waiting.push(letter);
    return true;
  }

  /** What came after a message that goes on now. */
  release(producer: string): readonly L[] {
    const waiting = this.#held.get(producer) ?? [];
    this.#held.delete(producer);
    return waiting;
  }

  // ── forgotten lives ────────────────────────────────────────────────────────────────────────────

  /** Names of a leader before us, see `FORGOTTEN`. */
  recover(partition: number, names: Iterable<string>): void {
    for (const name of names) {
      this.#forgottenOf(partition).set(name, parseForgottenName(name));
      this.#noted.add(name);
    }
  }

  /** Name under which the store must note it. */
  forget(partition: number, invocation: Completed): string {
    const life = { id: invocation.facts.id, retainedUntilMs: retainedUntilMs(invocation) };
    const name = forgottenName(life.id, life.retainedUntilMs);
    this.#forgottenOf(partition).set(name, life);
    return name;
  }

  /** The store has noted it: whatever happens now, the life is over. */
  noted(name: string): void {
    this.#noted.add(name);
  }

  /** Lives that the archive must forget, at most `limit`. */
  forgotten(partition: number, limit: number): readonly ArchivedLife[] {
    const lives: ArchivedLife[] = [];
    for (const [name, life] of this.#forgottenOf(partition)) {
      if (this.#noted.has(name)) lives.push(life);
      if (lives.length === limit) break;
    }
    return lives;
  }

  /** The archive has forgotten it; tells the name of its note. */
  isForgottenThere(partition: number, { id, retainedUntilMs }: ArchivedLife): string {
    const name = forgottenName(id, retainedUntilMs);
    this.#forgottenOf(partition).delete(name);
    this.#noted.delete(name);
    return name;
  }

  #isForgotten({ id, retainedUntilMs }: ArchivedLife): boolean {
    const name = forgottenName(id, retainedUntilMs);
    for (const lives of this.#forgotten.values()) if (lives.has(name)) return true;
    return false;
  }

  #forgottenOf(partition: number): Map<string, ArchivedLife> {
    let lives = this.#forgotten.get(partition);
    if (lives === undefined) {
      lives = new Map();
      this.#forgotten.set(partition, lives);
    }
    return lives;
  }
}

/**
 * Whether it makes a difference to a command that its invocation is archived instead of gone. Of most it does not: what comes for a
 * completed invocation is dropped like what comes for none.
 */
export function asksArchive(command: PartitionCommand, isAnswered: boolean): boolean {
  switch (command.kind) {
    case "invoke": {
      const { idempotencyKey, target } = command.facts;
      // As in the core: a random id that comes for the first time cannot be known.
      return idempotencyKey !== undefined || command.resubmission === true || isWorkflowRun(target);
    }
    case "attach":
    case "queryOutput":
    case "restartAsNew":
      return true;
    case "cancel":
    case "kill":
    case "pause":
    case "resume":
      return isAnswered;
    case "purge":
    case "purgeJournal":
    case "timerFired":
      return changesCompleted(command);
    default:
      return false;
  }
}

/** Whether it may forget a completed invocation, or its journal. */
export function changesCompleted(command: PartitionCommand): boolean {
  if (command.kind === "timerFired") return command.timer.kind === "purge" || command.timer.kind === "purgeJournal";
  return command.kind === "purge" || command.kind === "purgeJournal";
}
