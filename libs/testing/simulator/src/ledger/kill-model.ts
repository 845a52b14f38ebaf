/**
 * Rules about kills: in the batch that kills an invocation, every invocation that it called is over, or a kill of it is in the outbox; and when
 * that message is acknowledged, its target is over. So nothing of a killed tree survives, and nothing of it begins an attempt.
 */
import type { InvocationId } from "@perdure/base";
import type { PartitionCommand, UndoMark } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { GenerationRecord } from "./generation-record.js";

/** A message that waits in an outbox, and the batch that put it there. */
export interface UndeliveredMessage {
  readonly command: PartitionCommand;
  readonly atCommit: number;
}

interface KilledCaller {
  readonly id: InvocationId;
  readonly children: readonly InvocationId[];
  /** Those of the children whose results it has. */
  readonly completed: ReadonlySet<InvocationId>;
}

/** Time until a leader has read a commit that ended an invocation: the slowest commits and reads together. */
const UNAWARE_MS_MAX = 60_000;

export class KillModel {
  readonly #findings: SimulationFindings;
  readonly #nowMs: () => number;
  /** Killed in this batch, with the invocations that they called until then. */
  #killed: KilledCaller[] = [];
  readonly #overSinceMs = new WeakMap<GenerationRecord, number>();

  constructor(findings: SimulationFindings, nowMs: () => number) {
    this.#findings = findings;
    this.#nowMs = nowMs;
  }

  over(generation: GenerationRecord): void {
    if (!this.#overSinceMs.has(generation)) this.#overSinceMs.set(generation, this.#nowMs());
  }

  restored(generation: GenerationRecord): void {
    this.#overSinceMs.delete(generation);
    this.#killed = this.#killed.filter(({ id }) => id !== generation.id);
  }

  killed(caller: KilledCaller): void {
    if (caller.children.length > 0) this.#killed.push(caller);
  }

  endOfBatch(
    generationOf: (id: InvocationId) => GenerationRecord | undefined,
    outbox: ReadonlyMap<string, UndeliveredMessage>,
    commit: number,
  ): void {
    if (this.#killed.length === 0) return;
    const messages = [...outbox.values()].map(({ command }) => command);
    for (const { id, children, completed } of this.#killed) {
      for (const child of children) {
        // A message of another caller, with the same idempotency key, refers to the invocation that is over.
        const isComing = messages.some(
          (command) => command.kind === "invoke" && command.id === child && command.sink?.callerId === id,
        );
        const generation = generationOf(child);
        // An undo may restore a callee before the kill reaches its caller, which has the callee's end by then and does not wait for it.
        const mayRun = generation?.createdAtCommit === commit || completed.has(child);
        const isRestored = generation !== undefined && generation.restoredCount > 0 && mayRun;
        const ends = (!isInFlight(generation) || isRestored) && !isComing;
        const isReached = ends || messages.some((command) => command.kind === "kill" && command.id === child);
        this.#findings.require(isReached, "a kill reaches the whole tree", () => `${child}, called by ${id}`);
      }
    }
    this.#killed = [];
  }

  /**
   * The message was delivered. An operation that kills a caller after its kill of the callee was undone leaves the callee as it is: the
   * caller is restored as well.
   */
  acknowledged(
    { command, atCommit }: UndeliveredMessage,
    generationOf: (id: InvocationId) => GenerationRecord | undefined,
    isUndone: (id: InvocationId, mark: UndoMark | undefined) => boolean,
  ): void {
    if (command.kind !== "kill" || isUndone(command.id, command.undo)) return;
    const generation = generationOf(command.id);
    const isOver = !isInFlight(generation) || (generation as GenerationRecord).createdAtCommit >= atCommit;
    this.#findings.require(isOver, "a kill that was delivered was carried out", () => command.id);
  }

  /** A rightful leader begins an attempt of the invocation. */
  attempted(generation: GenerationRecord, name: string): void {
    const sinceMs = this.#overSinceMs.get(generation);
    const isOverdue = sinceMs !== undefined && this.#nowMs() - sinceMs > UNAWARE_MS_MAX;
    this.#findings.require(!isOverdue, "an ended invocation begins no attempt", () => name);
  }
}

function isInFlight(generation: GenerationRecord | undefined): boolean {
  return generation !== undefined && generation.invocation.status !== "completed";
}
