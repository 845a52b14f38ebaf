/**
 * The documents of schedules: three for each, so that a firing rewrites only the small one, and a name is unique whichever process
 * writes. Documents from storage are validated; damage is META0005.
 */
import {
  type InvocationId,
  type OperationId,
  PerdureError,
  parseInvocationId,
  parseScheduleId,
  type ScheduleId,
} from "@perdure/base";
import { type Document, type DocumentWrite, deletedKey } from "@perdure/metadata";
import type { PastFiring, Schedule, ScheduleRecord, ScheduleState } from "@perdure/schedules";
import { z } from "zod";

export const SCHEDULES_PREFIX = "schedules/";
const RECORD = `${SCHEDULES_PREFIX}record/`;
const STATE = `${SCHEDULES_PREFIX}state/`;
const NAME = `${SCHEDULES_PREFIX}name/`;

const Ms = z.number().int();
const Count = z.number().int().min(0);
/** Absent in JSON, present as `undefined` in memory: records keep one shape. */
const maybe = <T extends z.ZodType>(schema: T) =>
  schema.optional().default(undefined as never) as z.ZodType<z.infer<T> | undefined>;

const StoredId: z.ZodType<ScheduleId> = z.string().transform((text, context) => orIssue(parseScheduleId(text), context));
const StoredInvocationId: z.ZodType<InvocationId> = z
  .string()
  .transform((text, context) => orIssue(parseInvocationId(text), context));

const StoredRecord: z.ZodType<ScheduleRecord> = z.object({
  id: StoredId,
  version: z.number().int().min(1),
  createdAtMs: Ms,
  modifiedAtMs: Ms,
  name: z.string(),
  description: maybe(z.string()),
  cron: z.string(),
  zone: z.string(),
  jitterMs: Count,
  startAtMs: maybe(Ms),
  endAtMs: maybe(Ms),
  firingsMax: maybe(z.number().int().min(1)),
  target: z.object({
    service: z.string(),
    handler: z.string(),
    key: maybe(z.string()),
    scope: maybe(z.string()),
    limitKey: maybe(z.string()),
    priority: maybe(z.number().int()),
  }),
  payload: z.object({ contentType: maybe(z.string()), base64: z.string() }),
  headers: z.record(z.string(), z.string()),
  overlap: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("skip") }),
    z.object({ kind: z.literal("queue"), max: z.number().int().min(1) }),
    z.object({ kind: z.literal("cancelPrevious") }),
    z.object({ kind: z.literal("allow") }),
  ]),
  catchUp: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("none") }),
    z.object({ kind: z.literal("last") }),
    z.object({ kind: z.literal("all"), max: z.number().int().min(1), windowMs: z.number().int().min(1) }),
  ]),
});

const StoredFiring: z.ZodType<PastFiring> = z.object({
  outcome: z.enum(["fired", "failed", "skipped", "missed"]),
  cause: maybe(z.enum(["due", "queued", "caughtUp", "manual"])),
  nominalMs: Ms,
  atMs: Ms,
  invocationId: maybe(StoredInvocationId),
  detail: maybe(z.string()),
  count: Count,
});

const StoredState: z.ZodType<ScheduleState> = z.object({
  isPaused: z.boolean(),
  decidedThroughMs: Ms,
  active: maybe(z.object({ invocationId: StoredInvocationId, nominalMs: Ms })),
  queue: z.array(Ms),
  firedCount: Count,
  manualCount: Count,
  skippedCount: Count,
  failedCount: Count,
  missedCount: Count,
  lastFired: maybe(StoredFiring),
  recent: z.array(StoredFiring),
});

interface StoredRecords {
  readonly records: ReadonlyMap<ScheduleId, { readonly version: number; readonly value: ScheduleRecord }>;
  readonly states: ReadonlyMap<ScheduleId, { readonly version: number; readonly value: ScheduleState }>;
}

/** Throws META0005 for a malformed document. */
export function readDocuments(documents: readonly Document[]): StoredRecords {
  const records = new Map<ScheduleId, { version: number; value: ScheduleRecord }>();
  const states = new Map<ScheduleId, { version: number; value: ScheduleState }>();
  for (const { key, version, value } of documents) {
    if (key.startsWith(RECORD)) {
      const record = checked(key, StoredRecord, value);
      records.set(record.id, { version, value: record });
    } else if (key.startsWith(STATE)) {
      const id = checked(key, StoredId, key.slice(STATE.length));
      states.set(id, { version, value: checked(key, StoredState, value) });
    } else if (!key.startsWith(NAME)) {
      throw new PerdureError("META0005", `the metadata document '${key}' is of a kind that this version does not support`);
    }
  }
  return { records, states };
}

export function putRecord(record: ScheduleRecord, expectedVersion: number): DocumentWrite {
  return { kind: "put", key: RECORD + record.id, value: record, expectedVersion };
}
export function putState(id: ScheduleId, state: ScheduleState, expectedVersion: number): DocumentWrite {
  return { kind: "put", key: STATE + id, value: state, expectedVersion };
}
/** The store refuses the write when another schedule has the name. */
export function takeName(name: string, id: ScheduleId): DocumentWrite {
  return { kind: "put", key: NAME + name, value: { id }, expectedVersion: 0 };
}
export function freeName(name: string): DocumentWrite {
  return { kind: "delete", key: NAME + name, expectedVersion: undefined };
}
export function deleteSchedule(record: ScheduleRecord, expectedVersion: number): readonly DocumentWrite[] {
  return [
    { kind: "delete", key: RECORD + record.id, expectedVersion },
    { kind: "delete", key: STATE + record.id, expectedVersion: undefined },
    freeName(record.name),
  ];
}

/** A copy of a deleted schedule, written with the deletion. */
export function keepCopy(operation: OperationId, { record, state }: Pick<Schedule, "record" | "state">): DocumentWrite {
  return { kind: "put", key: deletedKey(operation), value: { kind: "schedule", record, state }, expectedVersion: 0 };
}

const StoredCopy = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("schedule"), record: StoredRecord, state: StoredState }),
  z.object({ kind: z.literal("restored") }),
]);

/** Undefined when the document is not a copy of a schedule of this version. */
export function copyOfSchedule({ value }: Document): z.infer<typeof StoredCopy> | undefined {
  const parsed = StoredCopy.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

function checked<T>(key: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PerdureError("META0005", `the metadata document '${key}' is damaged: ${parsed.error.message}`);
}

function orIssue<T>(parsed: { ok: true; value: T } | { ok: false; problem: string }, context: z.RefinementCtx): T {
  if (parsed.ok) return parsed.value;
  context.addIssue({ code: "custom", message: parsed.problem });
  return z.NEVER;
}
