/**
 * Rules about runs: what is stored of an invocation while it runs was sent by an attempt of its present run. Commands of an earlier run
 * come too late.
 */
import { bytesEqual, type InvocationId } from "@perdure/base";
import { MessageType, messageTypeName, type NotificationResult } from "@perdure/service-protocol";
import type { Invocation, JournalEntry } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { AttemptRecord } from "./attempts.js";
import { type GenerationRecord, resultText } from "./generation-record.js";

/** The messages that one attempt has sent, recorded at its endpoint. */
export class AttemptMessages {
  /** Commands by their index among the commands of the handler. */
  readonly commands = new Map<number, JournalEntry["body"]>();
  /** Results of runs, with their completion ids. */
  readonly results = new Set<string>();
  suspended = false;
  ended = false;

  proposed(completionId: number, result: NotificationResult): void {
    this.results.add(`${completionId} ${resultText(result)}`);
  }
}

export class RunModel {
  readonly #findings: SimulationFindings;
  readonly #attempts = new Map<GenerationRecord, AttemptRecord[]>();

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  opened(record: AttemptRecord): void {
    const { generation } = record;
    if (generation === undefined) return;
    const records = this.#attempts.get(generation);
    if (records === undefined) this.#attempts.set(generation, [record]);
    else records.push(record);
  }

  /** A command is stored: `index` is its place among the handler's commands. */
  command(generation: GenerationRecord, index: number, { type, body }: JournalEntry): void {
    if (type === MessageType.Input) return;
    const wasSaid = this.#said(generation, ({ commands }) => {
      const said = commands.get(index);
      return said !== undefined && bytesEqual(said, body);
    });
    this.#require(wasSaid, generation, () => `command ${index}, ${messageTypeName(type)}`);
  }

  runCompleted(generation: GenerationRecord, completionId: number, result: NotificationResult): void {
    const text = `${completionId} ${resultText(result)}`;
    this.#require(
      this.#said(generation, ({ results }) => results.has(text)),
      generation,
      () => `result of run ${text}`,
    );
  }

  /** A running invocation changes its status. */
  moved(generation: GenerationRecord, to: Invocation): void {
    if (to.status === "suspended")
      this.#require(
        this.#said(generation, ({ suspended }) => suspended),
        generation,
        () => "suspension",
      );
    if (to.status !== "completed" || to.outcome.kind !== "success") return;
    this.#require(
      this.#said(generation, ({ ended }) => ended),
      generation,
      () => "end",
    );
  }

  generationDeleted(generation: GenerationRecord): void {
    this.#attempts.delete(generation);
  }

  #said(generation: GenerationRecord, what: (messages: AttemptMessages) => boolean): boolean {
    const { run } = generation.invocation;
    return this.#attempts.get(generation)?.some((record) => record.run === run && what(record.messages)) === true;
  }

  #require(condition: boolean, { id, invocation }: { id: InvocationId; invocation: Invocation }, what: () => string): void {
    const rule = "stored entries come from the present run";
    this.#findings.require(condition, rule, () => `${id} run ${invocation.run}: ${what()}`);
  }
}
