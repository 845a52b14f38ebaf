/** Reads a bundle from its file, as the subject of a replay. */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type BundleView, parseBundle } from "@perdure/admin-client";
import { PerdureError, parseInvocationId, toBinaryString } from "@perdure/base";
import type { ReplaySubject } from "@perdure/invoker";
import type { HandlerType, InvocationFacts, JournalEntry, ServiceType } from "@perdure/state-machine";
import { CliError, FAILED } from "../../errors.js";
import { BUNDLE_JSON_BYTES_MAX } from "./limits.js";

const GZIP = [0x1f, 0x8b];

/** Ends the command when the file cannot be read or is not a bundle. */
export function readBundle(file: string): BundleView {
  try {
    const bytes = readFileSync(file);
    const isCompressed = GZIP.every((byte, index) => bytes[index] === byte);
    return parseBundle((isCompressed ? gunzipSync(bytes, { maxOutputLength: BUNDLE_JSON_BYTES_MAX }) : bytes).toString());
  } catch (cause) {
    if (cause instanceof PerdureError) throw unreadable(file, cause.detail, cause);
    throw unreadable(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function unreadable(file: string, detail: string, cause: unknown): CliError {
  return new CliError(FAILED, `${file} cannot be read as a bundle: ${detail}`, undefined, { cause, code: "OPS0010" });
}

export type BundleSubject = Omit<ReplaySubject, "version">;

/** @param nowMs the last entry counts as stored now: the time that has passed since then must not exhaust retries of steps */
export function subjectOf(file: string, bundle: BundleView, isLazy: boolean, nowMs: number): BundleSubject {
  const { invocation, journal, state } = bundle;
  return {
    facts: factsOf(file, bundle),
    isCompleted: invocation.status === "completed",
    entries: journal.entries.map(entryOf),
    state:
      state === null || isLazy
        ? undefined
        : new Map(state.entries.map(({ key, value }) => [toBinaryString(bytesOf(key)), bytesOf(value)])),
    isStatePartial: state?.complete === false,
    lastStoredAtMs: nowMs,
  };
}

function factsOf(file: string, { invocation }: BundleView): InvocationFacts {
  const id = parseInvocationId(invocation.id);
  if (!id.ok) throw unreadable(file, `field 'invocation.id': ${id.problem}`, undefined);
  const { service, handler, key, scope, service_type, handler_type } = invocation.target;
  const serviceType = SERVICE_TYPES.get(service_type);
  const handlerType = HANDLER_TYPES.get(handler_type);
  if (serviceType === undefined || handlerType === undefined)
    throw unreadable(file, "field 'invocation.target': its types are not known here", undefined);
  if (!/^\d{1,20}$/.test(invocation.random_seed)) throw unreadable(file, "field 'invocation.random_seed'", undefined);
  return {
    id: id.value,
    target: { service, handler, key: key ?? undefined, scope: scope ?? undefined, serviceType, handlerType },
    source: { kind: "ingress" },
    idempotencyKey: invocation.idempotency_key ?? undefined,
    limitKey: invocation.limit_key ?? undefined,
    priority: invocation.priority,
    requestId: 0,
    createdAtMs: msOf(invocation.created_at),
    executionTimeMs: undefined,
    completionRetentionMs: invocation.completion_retention_ms,
    journalRetentionMs: invocation.journal_retention_ms,
    randomSeed: BigInt(invocation.random_seed),
    trace: undefined,
    bytes: undefined,
  };
}

const SERVICE_TYPES: ReadonlyMap<string, ServiceType> = new Map([
  ["service", "service"],
  ["virtualObject", "virtualObject"],
  ["workflow", "workflow"],
]);
const HANDLER_TYPES: ReadonlyMap<string, HandlerType> = new Map([
  ["exclusive", "exclusive"],
  ["shared", "shared"],
  ["workflow", "workflow"],
]);

function entryOf({ type, body, at }: BundleView["journal"]["entries"][number]): JournalEntry {
  return { type, body: bytesOf(body), appendedAtMs: msOf(at) };
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

/** RFC 3339 with up to nine digits of a second. */
function msOf(time: string): number {
  return Date.parse(time.replace(/(\.\d{3})\d+/, "$1"));
}
