/**
 * Stored form of batches: a batch outlives the process that began it, so its description and its progress are documents. Documents are
 * validated when they are read, because another version of this program may have written them.
 */

import { BATCH_VERBS } from "@perdure/admin-contract";
import type { DeploymentChoice } from "@perdure/admin-contract/requests";
import {
  type BatchId,
  type InvocationId,
  type Parsed,
  parseBatchId,
  parseDeploymentId,
  parseInvocationId,
  parseOperationId,
} from "@perdure/base";
import type { Document, Json } from "@perdure/metadata";
import { z } from "zod";

/** The text of an id that `parse` accepts. */
function idText<Id extends string>(parse: (text: string) => Parsed<Id>) {
  return z.string().transform((text, context): Id => {
    const parsed = parse(text);
    if (parsed.ok) return parsed.value;
    context.addIssue({ code: "custom", message: parsed.problem });
    return z.NEVER;
  });
}

const InvocationIdText = idText(parseInvocationId);

const Choice = z.union([
  z.object({ kind: z.enum(["keep", "latest"]) }),
  z.object({ kind: z.literal("id"), id: idText(parseDeploymentId) }),
]);

const Stored = z.object({
  operation: z.enum(BATCH_VERBS),
  /** The condition; null for a batch with a list of ids. */
  filter: z.string().nullable(),
  deployment: Choice.nullable(),
  startedBy: z.string().nullable(),
  reason: z.string().nullable(),
  createdAtMs: z.number(),
  matched: z.number(),
  /** Whether more invocations met the condition than the batch takes. */
  moreMatched: z.boolean(),
  pages: z.number(),
  state: z.enum(["running", "finished", "cancelled"]),
  /** False until a process runs the batch: until then no operation of it can have been applied. */
  isBegun: z.boolean().default(true),
  /** A process that does not run the batch requests its cancellation. */
  cancelling: z.boolean().default(false),
  /** Number of the current page; equals `pages` when all are done. */
  page: z.number(),
  /** Operations of the current page may have been applied since then. */
  pageBegunAtMs: z.number(),
  succeeded: z.number(),
  failed: z.number(),
  finishedAtMs: z.number().nullable(),
  /** The operation that the batch is, or that it undoes. */
  undo: z
    .object({ operation: idText(parseOperationId), untilMs: z.number() })
    .nullable()
    .default(null),
});

export interface BatchRecord extends z.infer<typeof Stored> {
  readonly id: BatchId;
}

const Page = z.union([
  /** A page to do. `newIds` are the ids for restarted invocations, chosen in advance so that none is created twice. */
  z.object({ kind: z.literal("ids"), ids: z.array(InvocationIdText), newIds: z.array(InvocationIdText) }),
  /**
   * A finished page: id, status, problem (null: none), id of the new invocation (null: none), note (null or absent: none), and whether
   * nothing was changed that an undo could revert (absent: no).
   */
  z.object({
    kind: z.literal("results"),
    results: z.array(
      z.tuple([
        InvocationIdText,
        z.number(),
        z.string().nullable(),
        InvocationIdText.nullable(),
        z.string().nullable().optional(),
        z.boolean().optional(),
      ]),
    ),
  }),
]);
type BatchPage = z.infer<typeof Page>;

/** Outcome for one invocation. `status` as in the single routes. */
export interface BatchResult {
  readonly id: InvocationId;
  readonly status: number;
  readonly problem: string | undefined;
  readonly newId: InvocationId | undefined;
  /** What an undo could not revert. */
  readonly note: string | undefined;
  /** Whether nothing was changed that an undo could revert. */
  readonly isFinal: boolean;
}

const RECORDS = "batches/record/";
/** Key prefix of records; results have other keys. */
export const RECORD_PREFIX = RECORDS;

export function recordKey(id: BatchId): string {
  return RECORDS + id;
}

export function pageKey(id: BatchId, page: number): string {
  return `batches/page/${id}/${page}`;
}

/** Undefined when the document is not a record of this version. */
export function recordOf({ key, value }: Document): BatchRecord | undefined {
  const id = parseBatchId(key.slice(RECORDS.length));
  const parsed = Stored.safeParse(value);
  return id.ok && parsed.success ? { ...parsed.data, id: id.value } : undefined;
}

export function documentOf({ id: _inKey, ...stored }: BatchRecord): object {
  return stored;
}

export function pageOf({ value }: Document): BatchPage | undefined {
  const parsed = Page.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

export function idsPage(ids: readonly InvocationId[], newIds: readonly InvocationId[]): Json {
  return { kind: "ids", ids, newIds };
}

export function resultsPage(results: readonly BatchResult[]): Json {
  return {
    kind: "results",
    results: results.map(({ id, status, problem, newId, note, isFinal }) => [
      id,
      status,
      problem ?? null,
      newId ?? null,
      ...(isFinal ? [note ?? null, true] : note === undefined ? [] : [note]),
    ]),
  };
}

export function resultsOf(page: BatchPage | undefined): readonly BatchResult[] {
  if (page?.kind !== "results") return [];
  return page.results.map(([id, status, problem, newId, note, isFinal]) => ({
    id,
    status,
    problem: problem ?? undefined,
    newId: newId ?? undefined,
    note: note ?? undefined,
    isFinal: isFinal ?? false,
  }));
}

export function choiceOf(record: BatchRecord): DeploymentChoice | undefined {
  return record.deployment ?? undefined;
}
