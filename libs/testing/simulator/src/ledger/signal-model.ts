/** The signals that were sent to an invocation, so that a lost wake-up can be found. */
import type { InvocationId } from "@perdure/base";
import { parseAwakeableId } from "@perdure/base";
import type { JournalCommand, SignalId } from "@perdure/service-protocol";
import type { GenerationRecord } from "./generation-record.js";

type GenerationLookup = (id: InvocationId) => GenerationRecord | undefined;

/**
 * A signal belongs to the generation of the id that is in flight when the signal arrives. An id that is made of an idempotency
 * key may have a next generation, and a signal that arrived before that has no effect on it.
 */
export class SignalModel {
  readonly #generationOf: GenerationLookup;
  /** Signals sent to another partition and not received there yet. */
  readonly #pending = new Set<string>();
  readonly #received = new Set<string>();

  /** @param generationOf the present generation of an id; undefined: none, or it was deleted */
  constructor(generationOf: GenerationLookup) {
    this.#generationOf = generationOf;
  }

  /** A handler of `sender` has stored the command. */
  stored(sender: GenerationRecord, command: JournalCommand): void {
    const sent = signalOf(command);
    if (sent === undefined) return;
    this.#pending.add(textOf(sent.to, sent.signal));
    // Within one partition a signal arrives in the batch that stores its command.
    if (this.#generationOf(sent.to)?.partition === sender.partition) this.received(sent.to, sent.signal);
  }

  received(to: InvocationId, signal: SignalId): void {
    this.#pending.delete(textOf(to, signal));
    const generation = this.#generationOf(to);
    if (generation !== undefined && generation.invocation.status !== "completed")
      this.#received.add(generationText(generation, signal));
  }

  /** Whether a handler sent the signal and it has arrived, or may still arrive, at this generation. */
  wasSent(generation: GenerationRecord, signal: SignalId): boolean {
    return this.#pending.has(textOf(generation.id, signal)) || this.#received.has(generationText(generation, signal));
  }
}

function signalOf(command: JournalCommand): { readonly to: InvocationId; readonly signal: SignalId } | undefined {
  if (command.kind === "sendSignal") return { to: command.targetInvocationId as InvocationId, signal: command.signal };
  if (command.kind !== "completeAwakeable") return undefined;
  const parsed = parseAwakeableId(command.awakeableId);
  if (!parsed.ok || parsed.value.kind !== "signal") return undefined;
  return { to: parsed.value.invocationId, signal: { kind: "signalIndex", index: parsed.value.signalIndex } };
}

function generationText(generation: GenerationRecord, signal: SignalId): string {
  return `${generation.number}/${textOf(generation.id, signal)}`;
}

function textOf(to: InvocationId, signal: SignalId): string {
  return signal.kind === "signalIndex" ? `${to} index ${signal.index}` : `${to} name ${signal.name}`;
}
