/**
 * Rules about runs: what is stored of an invocation while it runs was said by an attempt of its present run. What an earlier run said came too
 * late, whatever it was.
 */
import { bytesEqual, type InvocationId } from "@perdure/base";
import type { Invocation, JournalEntry } from "@perdure/partition";
import { MessageType, messageTypeName, type NotificationResult } from "@perdure/service-protocol";
import type { Findings } from "../findings.js";
import type { AttemptRecord } from "./attempts.js";
import { type Life, resultText } from "./life.js";

/** What one attempt has said, as its endpoint knows it. */
export class AttemptWords {
  /** By their index among the commands of the handler. */
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
  readonly #findings: Findings;
  readonly #attempts = new Map<Life, AttemptRecord[]>();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  opened(record: AttemptRecord): void {
    const { life } = record;
    if (life === undefined) return;
    const known = this.#attempts.get(life);
    if (known === undefined) this.#attempts.set(life, [record]);
    else known.push(record);
  }

  /** A command is stored: `index` is its place among the handler's commands. */
  command(life: Life, index: number, { type, body }: JournalEntry): void {
    if (type === MessageType.Input) return;
    const wasSaid = this.#said(life, ({ commands }) => {
      const said = commands.get(index);
      return said !== undefined && bytesEqual(said, body);
    });
    this.#require(wasSaid, life, () => `command ${index}, ${messageTypeName(type)}`);
  }

  runCompleted(life: Life, completionId: number, result: NotificationResult): void {
    const text = `${completionId} ${resultText(result)}`;
    this.#require(
      this.#said(life, ({ results }) => results.has(text)),
      life,
      () => `result of run ${text}`,
    );
  }

  /** A running invocation changes its status. */
  moved(life: Life, to: Invocation): void {
    if (to.status === "suspended")
      this.#require(
        this.#said(life, ({ suspended }) => suspended),
        life,
        () => "suspension",
      );
    if (to.status !== "completed" || to.outcome.kind !== "success") return;
    this.#require(
      this.#said(life, ({ ended }) => ended),
      life,
      () => "end",
    );
  }

  forgotten(life: Life): void {
    this.#attempts.delete(life);
  }

  #said(life: Life, what: (words: AttemptWords) => boolean): boolean {
    const { run } = life.invocation;
    return this.#attempts.get(life)?.some((record) => record.run === run && what(record.words)) === true;
  }

  #require(condition: boolean, { id, invocation }: { id: InvocationId; invocation: Invocation }, what: () => string): void {
    const rule = "what is stored was said by the present run";
    this.#findings.require(condition, rule, () => `${id} run ${invocation.run}: ${what()}`);
  }
}
