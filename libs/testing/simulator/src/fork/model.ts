/**
 * Rules about restarts and forks, from the journal of the source alone: the new journal begins with the requested entries, with the edited
 * results in place of the stored ones, and then has a completion for each copied command that had none among them.
 */
import { bytesEqual, type InvocationId } from "@perdure/base";
import {
  decodeNotification,
  invocationIdCompletionIdOf,
  isCommand,
  isFault,
  resultCompletionIdOf,
} from "@perdure/service-protocol";
import type { JournalEntry, RestartAsNew } from "@perdure/state-machine";
import type { SimulationFindings } from "../findings.js";
import type { GenerationRecord } from "../ledger/generation-record.js";

interface RequestedCopy {
  readonly source: GenerationRecord;
  readonly command: RestartAsNew;
}

export class ForkModel {
  readonly #findings: SimulationFindings;
  readonly #requested = new Map<InvocationId, RequestedCopy>();

  constructor(findings: SimulationFindings) {
    this.#findings = findings;
  }

  requested(source: GenerationRecord, command: RestartAsNew): void {
    this.#requested.set(command.newId, { source, command });
  }

  /** The copy and its journal are durable. */
  copied({ id, entries }: GenerationRecord): void {
    const copy = this.#requested.get(id);
    this.#requested.delete(id);
    // A journal that was deleted since, or that an undo has put back, is not there to compare with.
    if (copy === undefined || copy.source.journalDropped || copy.source.isDeleted || copy.source.restoredCount > 0) return;
    const { from, fork } = copy.command;
    const source = copy.source.entries.map((entry, index) => {
      const body = fork?.replaced.find((one) => one.index === index)?.body;
      return body === undefined ? entry : { ...entry, body };
    });
    const prefix = source.slice(0, from + 1);
    const isPrefix = prefix.every((entry, index) => isSame(entry, entries[index]));
    this.#require(isPrefix, id, "its first entries");
    const available = [...(fork?.added ?? []), ...source.slice(from + 1).filter(({ type }) => !isCommand(type))];
    const rest = entries.slice(from + 1);
    this.#require(
      rest.every((entry) => available.some((one) => isSame(one, entry))),
      id,
      "its completions",
    );
    const completed = entries.flatMap((entry) => completionIdOf(entry) ?? []);
    const expected = prefix.flatMap(completionsOf);
    const isComplete = expected.every((one) => completed.filter((each) => each === one).length === 1);
    this.#require(isComplete, id, `completions ${completed.join()} for ${expected.join()}`);
    const edits = fork?.added.filter((one) => expected.includes(completionIdOf(one) ?? -1)) ?? [];
    this.#require(
      edits.every((one) => completed.includes(completionIdOf(one) ?? -1)),
      id,
      "added results",
    );
  }

  #require(condition: boolean, id: InvocationId, what: string): void {
    this.#findings.require(condition, "a copy has the journal of its source with the edits", () => `${id}: ${what}`);
  }
}

type StoredMessage = Pick<JournalEntry, "type" | "body">;

function isSame(one: StoredMessage, other: StoredMessage | undefined): boolean {
  return other !== undefined && one.type === other.type && bytesEqual(one.body, other.body);
}

function completionIdOf({ type, body }: StoredMessage): number | undefined {
  if (isCommand(type)) return undefined;
  const notification = decodeNotification(type, body);
  return !isFault(notification) && notification.id.kind === "completion" ? notification.id.id : undefined;
}

function completionsOf({ type, body }: StoredMessage): number[] {
  if (!isCommand(type)) return [];
  return [resultCompletionIdOf(type, body), invocationIdCompletionIdOf(type, body)].filter((one) => one !== undefined);
}
