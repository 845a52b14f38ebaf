/** Stored form of operations that can be undone. Documents are validated when they are read: another version may have written them. */
import { UNDOABLE_CHANGES, UNDOABLE_VERBS } from "@perdure/admin-contract";
import {
  type BatchId,
  type InvocationId,
  type OperationId,
  parseBatchId,
  parseInvocationId,
  parseOperationId,
} from "@perdure/base";
import type { Document, DocumentWrite, MetadataStore } from "@perdure/metadata";
import { z } from "zod";

const parsed = <T>(parse: (text: string) => { ok: true; value: T } | { ok: false; problem: string }) =>
  z.string().transform((text, context): T => {
    const result = parse(text);
    if (result.ok) return result.value;
    context.addIssue({ code: "custom", message: result.problem });
    return z.NEVER;
  });
const Batch = parsed<BatchId>(parseBatchId);

const Stored = z.object({
  verb: z.enum([...UNDOABLE_VERBS, ...UNDOABLE_CHANGES]),
  /** What was changed, when it is not invocations. */
  subject: z.string().nullable().default(null),
  /** Ids that the request named; empty for a batch, which has them. Of a state edit, the id of its command. */
  ids: z.array(parsed<InvocationId>(parseInvocationId)),
  /** Bytes of the copy of what was deleted; 0: there is none, or it was dropped. */
  copyBytes: z.number().default(0),
  batchId: Batch.nullable(),
  matched: z.number(),
  startedBy: z.string().nullable(),
  reason: z.string().nullable(),
  createdAtMs: z.number(),
  untilMs: z.number(),
  undo: z
    .object({
      startedAtMs: z.number(),
      /** The batch that undoes a batch. */
      batchId: Batch.nullable(),
      undone: z.number(),
      failed: z.number(),
      notes: z.array(z.string()),
    })
    .nullable(),
});

export interface OperationRecord extends z.infer<typeof Stored> {
  readonly id: OperationId;
}

export const OPERATIONS_PREFIX = "operations/";

export function operationKey(id: OperationId): string {
  return OPERATIONS_PREFIX + id;
}

/** Undefined when the document is not a record of this version. */
export function operationOf({ key, value }: Document): OperationRecord | undefined {
  const id = parseOperationId(key.slice(OPERATIONS_PREFIX.length));
  const result = Stored.safeParse(value);
  return id.ok && result.success ? { ...result.data, id: id.value } : undefined;
}

/** An operation with the version of its document. */
export interface StoredOperation {
  readonly record: OperationRecord;
  readonly version: number;
}

export async function storedOperations(metadata: Pick<MetadataStore, "list">): Promise<readonly StoredOperation[]> {
  return (await metadata.list(OPERATIONS_PREFIX)).flatMap((document) => {
    const record = operationOf(document);
    return record === undefined ? [] : [{ record, version: document.version }];
  });
}

export function putOperation(record: OperationRecord, expectedVersion: number): DocumentWrite {
  return { kind: "put", key: operationKey(record.id), value: operationDocument(record), expectedVersion };
}

function operationDocument({ id: _inKey, ...stored }: OperationRecord): object {
  return stored;
}
