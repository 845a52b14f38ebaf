/** `sys_journal_events`: the failures and pauses between entries. */
import { type InvocationId, partitionKeyOf, partitionOf } from "@perdure/base";
import { journalCommandName } from "@perdure/service-protocol";
import type { AttemptError, JournalEvent } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import { mapAhead } from "../ahead.js";
import { JOURNALS_AHEAD } from "../limits.js";
import { defineTable } from "../table.js";
import { anyStatus, findInvocations } from "./invocations.js";

interface EventRow {
  readonly id: InvocationId;
  readonly event: JournalEvent;
}

export const journalEvents = defineTable<EventRow>({
  name: "sys_journal_events",
  readers: {
    partition_key: ({ id }) => partitionKeyOf(id),
    id: ({ id }) => id,
    after_journal_entry_index: ({ event }) => Math.max(event.afterIndex, 0),
    appended_at: ({ event }) => event.atMs,
    event_type: ({ event }) => typeName(event),
    event_json: ({ event }) => eventJson(event),
  },
  async *rows(source, hints) {
    for await (const rows of findInvocations(source, hints, anyStatus)) {
      const read = async (id: InvocationId) => {
        const events = await source.store.events(partitionOf(id, source.partitionCount), id);
        return { id, events };
      };
      for await (const { id, events } of mapAhead(withEvents(rows), JOURNALS_AHEAD, read, () => false)) {
        for (const event of withoutRepetitions(events)) yield { id, event };
      }
    }
  },
});

function* withEvents(rows: readonly Uint8Array[]): Iterable<InvocationId> {
  const fields = new InvocationFields();
  for (const row of rows) {
    fields.load(row);
    if (fields.progress.hasEvents) yield fields.invocationId;
  }
}

/**
 * One event for consecutive attempts that failed with the same error, with the time of the first of them that is still stored. The
 * reference stores no more, and tests of the published SDK count them. Stores keep each failure, because the timeline needs its time.
 */
function* withoutRepetitions(events: readonly JournalEvent[]): Iterable<JournalEvent> {
  let previous: JournalEvent | undefined;
  for (const event of events) {
    if (previous === undefined || !isRepetition(previous, event)) yield event;
    previous = event;
  }
}

function isRepetition({ kind, error: before }: JournalEvent, { kind: kindNow, error: now }: JournalEvent): boolean {
  if (kind !== "transientError" || kindNow !== "transientError" || before === undefined || now === undefined) return false;
  return (
    before.errorCode === now.errorCode &&
    before.code === now.code &&
    before.message === now.message &&
    before.relatedCommandIndex === now.relatedCommandIndex &&
    before.relatedCommandName === now.relatedCommandName &&
    before.relatedCommandType === now.relatedCommandType
  );
}

function typeName({ kind }: JournalEvent): "TransientError" | "Paused" {
  return kind === "transientError" ? "TransientError" : "Paused";
}

function eventJson(event: JournalEvent): string {
  const failure = event.error === undefined ? undefined : failureJson(event.error);
  const ty = typeName(event);
  return JSON.stringify(event.kind === "paused" ? { ty, last_failure: failure } : { ty, ...failure });
}

/** JSON omits undefined fields. */
function failureJson(error: AttemptError): object {
  return {
    error_code: error.code,
    error_message: error.message,
    error_stacktrace: error.stacktrace,
    restate_doc_error_code: error.errorCode,
    related_command_index: error.relatedCommandIndex,
    related_command_name: error.relatedCommandName,
    related_command_type: error.relatedCommandType === undefined ? undefined : journalCommandName(error.relatedCommandType),
  };
}
