/**
 * The columns that lists and counts read, straight from a stored row into a column: texts as their stored bytes, times as numbers. Other
 * columns are read from the decoded invocation, ten times slower (`invocation-readers.ts`).
 */
import { invariant, utf8 } from "@perdure/base";
import type { InvocationFields, TextField } from "@perdure/storage";
import { type AnyColumn, TextColumn } from "../column.js";
import type { SqlValue } from "../table.js";
import { serviceTypeText } from "./invocation-readers.js";

/** A column of the row that was loaded. */
export interface FieldColumn {
  read(fields: InvocationFields): SqlValue;
  append(fields: InvocationFields, into: AnyColumn): void;
}

/** The version whose behaviour all invocations were created with: the value that `/version` returns. */
const COMPATIBLE_VERSION = "1.7.12";
const SLASH = utf8("/");

export const fieldColumns: { readonly [column: string]: FieldColumn } = {
  id: text((fields) => fields.facts.id),
  target: { read: targetOf, append: appendTarget },
  target_service_name: name(({ facts }) => facts.service),
  target_service_key: text((fields) => fields.facts.key),
  target_handler_name: name(({ facts }) => facts.handler),
  target_service_ty: labelField((fields) => serviceTypeText(fields.facts.serviceType)),
  scope: text((fields) => fields.facts.scope),
  limit_key: text((fields) => fields.facts.limitKey),
  idempotency_key: text((fields) => fields.facts.idempotencyKey),
  invoked_by: labelField(({ facts }) => (facts.sourceKind === "restart" ? "restart_as_new" : facts.sourceKind)),
  pinned_deployment_id: name(({ progress }) => progress.pinnedDeployment),
  pinned_service_protocol_version: number(({ progress }) => progress.pinnedVersion),
  journal_size: number((fields) => (hasBegun(fields) ? fields.progress.journalLength : -1)),
  journal_commands_size: number((fields) => (hasBegun(fields) ? fields.progress.journalCommands : -1)),
  created_at: number(({ facts }) => facts.createdAtMs),
  created_using_restate_version: labelField(() => COMPATIBLE_VERSION),
  modified_at: number(({ progress }) => progress.modifiedAtMs),
  inboxed_at: number(({ progress }) => progress.inboxedAtMs),
  scheduled_at: number(({ progress }) => progress.scheduledAtMs),
  scheduled_start_at: number(({ facts }) => facts.executionTimeMs),
  running_at: number(({ progress }) => progress.runningAtMs),
  completed_at: number(({ progress }) => progress.completedAtMs),
  completion_retention: number(({ facts }) => facts.completionRetentionMs),
  journal_retention: number(({ facts }) => facts.journalRetentionMs),
  completion_result: labelField((fields) => {
    if (fields.status !== "completed") return undefined;
    return fields.progress.isFailure ? "failure" : "success";
  }),
};

function text(field: (fields: InvocationFields) => TextField): FieldColumn {
  return {
    read(fields) {
      const at = field(fields);
      return at.start < 0 ? undefined : fields.text(at);
    },
    append: (fields, into) => appendText(fields, field(fields), into),
  };
}

/** A text column with few different values. */
function name(field: (fields: InvocationFields) => TextField): FieldColumn {
  return {
    read(fields) {
      const at = field(fields);
      return at.start < 0 ? undefined : fields.name(at);
    },
    append: (fields, into) => appendText(fields, field(fields), into),
  };
}

function textsIn(column: AnyColumn): TextColumn {
  invariant(column instanceof TextColumn, "texts are appended to a column of texts");
  return column;
}

function appendText({ row }: InvocationFields, { start, end }: TextField, into: AnyColumn): void {
  if (start < 0) into.pushNull();
  else textsIn(into).pushBytes(row, start, end);
}

/** One of few different texts. */
function labelField(of: (fields: InvocationFields) => string | undefined): FieldColumn {
  return { read: of, append: (fields, into) => into.push(of(fields)) };
}

/** Below zero is NULL. */
function number(of: (fields: InvocationFields) => number): FieldColumn {
  return {
    read(fields) {
      const value = of(fields);
      return value < 0 ? undefined : value;
    },
    append(fields, into) {
      const value = of(fields);
      into.push(value < 0 ? undefined : value);
    },
  };
}

function targetOf(fields: InvocationFields): string {
  const { service, key, handler } = fields.facts;
  const first = fields.text(service);
  return key.start < 0 ? `${first}/${fields.text(handler)}` : `${first}/${fields.text(key)}/${fields.text(handler)}`;
}

function appendTarget(fields: InvocationFields, into: AnyColumn): void {
  const { row, facts } = fields;
  const { service, key, handler } = facts;
  const column = textsIn(into);
  column.append(row, service.start, service.end);
  if (key.start >= 0) {
    column.append(SLASH, 0, 1);
    column.append(row, key.start, key.end);
  }
  column.append(SLASH, 0, 1);
  column.pushBytes(row, handler.start, handler.end);
}

/** Before its first run an invocation has a journal in the store (its input) but shows none to users. */
function hasBegun({ status }: InvocationFields): boolean {
  return status !== "scheduled" && status !== "inboxed";
}
