/**
 * `sys_journal`: one row for each entry. Entries are decoded only for columns that need it, and a journal is read whole, because the
 * callee of a call is in a later notification.
 */
import { type InvocationId, partitionKeyOf, partitionOf } from "@perdure/base";
import { decodeCommand, isCommand, isFault, journalEntryTypeName, MessageType } from "@perdure/service-protocol";
import type { JournalEntry } from "@perdure/state-machine";
import { InvocationFields } from "@perdure/storage";
import { mapAhead } from "../ahead.js";
import { JOURNAL_BYTES_AHEAD_MAX, JOURNALS_AHEAD } from "../limits.js";
import type { IntrospectionSource, ServiceRow } from "../ports.js";
import { isRead } from "../query/hints.js";
import { defineTable } from "../table.js";
import { calleesOf, factsOfCallees, type JournalContext } from "./callee.js";
import { entryJson, entryLiteJson } from "./entry-json.js";
import { anyStatus, findInvocations } from "./invocations.js";

interface EntryRow {
  readonly id: InvocationId;
  readonly index: number;
  readonly entry: JournalEntry;
  readonly context: JournalContext;
}

/** Format of the journal that all supported protocol versions write. */
const JOURNAL_VERSION = 2;

export const journal = defineTable<EntryRow>({
  name: "sys_journal",
  readers: {
    partition_key: ({ id }) => partitionKeyOf(id),
    id: ({ id }) => id,
    index: ({ index }) => index,
    entry_type: ({ entry }) => journalEntryTypeName(entry.type),
    name: ({ entry }) => labelOf(entry),
    raw: ({ entry }) => entry.body,
    raw_length: ({ entry }) => entry.body.length,
    version: () => JOURNAL_VERSION,
    entry_json: ({ entry, context }) => entryJson(entry, context),
    entry_lite_json: ({ entry, context }) => entryLiteJson(entry, context),
    appended_at: ({ entry }) => entry.appendedAtMs,
  },
  async *rows(source, hints) {
    const areCalleesShown = isRead(hints, "entry_json") || isRead(hints, "entry_lite_json");
    let read: Promise<ReadonlyMap<string, ServiceRow>> | undefined;
    const services = areCalleesShown ? () => (read ??= servicesOf(source)) : undefined;
    for await (const rows of findInvocations(source, hints, anyStatus, true)) {
      const journals = mapAhead(withJournals(rows), JOURNALS_AHEAD, (one) => readJournal(source, services, one), isLarge);
      for await (const { id, entries, context } of journals) {
        for (const [index, entry] of entries.entries()) yield { id, index, entry, context };
      }
    }
  },
});

interface JournalRequest {
  readonly id: InvocationId;
  readonly length: number;
}

interface InvocationJournal {
  readonly id: InvocationId;
  readonly entries: readonly JournalEntry[];
  readonly context: JournalContext;
}

function* withJournals(rows: readonly Uint8Array[]): Iterable<JournalRequest> {
  const fields = new InvocationFields();
  for (const row of rows) {
    fields.load(row);
    const { journalLength } = fields.progress;
    if (journalLength > 0) yield { id: fields.invocationId, length: journalLength };
  }
}

function isLarge({ entries }: InvocationJournal): boolean {
  let bytes = 0;
  for (const { body } of entries) bytes += body.length;
  return bytes > JOURNAL_BYTES_AHEAD_MAX;
}

/** Latest revisions by name, requested once for a statement and only when a journal has calls. */
type Services = () => Promise<ReadonlyMap<string, ServiceRow>>;

async function servicesOf({ live }: IntrospectionSource): Promise<ReadonlyMap<string, ServiceRow>> {
  const services = new Map<string, ServiceRow>();
  for await (const service of live.services()) services.set(service.name, service);
  return services;
}

/** `services` only when the statement shows callees. */
async function readJournal(
  source: IntrospectionSource,
  services: Services | undefined,
  { id, length }: JournalRequest,
): Promise<InvocationJournal> {
  const entries = await source.store.readJournal(partitionOf(id, source.partitionCount), id, length);
  const context = services === undefined || !entries.some(isCall) ? NO_CALLEES : await contextOf(source, services, entries);
  return { id, entries, context };
}

function isCall({ type }: JournalEntry): boolean {
  return type === MessageType.Call || type === MessageType.OneWayCall;
}

/** Context of statements that show no callees, and of journals without calls. */
const NO_CALLEES: JournalContext = { facts: new Map(), services: new Map(), callees: new Map() };

async function contextOf(
  source: IntrospectionSource,
  services: Services,
  entries: readonly JournalEntry[],
): Promise<JournalContext> {
  const callees = calleesOf(entries);
  return { facts: await factsOfCallees(source, callees), services: await services(), callees };
}

/** The label that user code gave a command, "" when none; notifications have none. */
function labelOf(entry: JournalEntry): string | undefined {
  if (!isCommand(entry.type)) return undefined;
  const command = decodeCommand(entry.type, entry.body);
  return isFault(command) ? undefined : command.name;
}
