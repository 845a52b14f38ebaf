/**
 * Builds the Invoke command of a firing, always the same for the same schedule and time: its id is derived from both, so however often
 * it is submitted (a crash, a retry, two engines for a moment) there is one invocation.
 */
import { fromBase64, hashString, idempotentInvocationId, workflowInvocationId } from "@perdure/base";
import { type RegistryView, retentionsOf } from "@perdure/control";
import { encodeInput, type Header } from "@perdure/service-protocol";
import { type Invoke, PRIORITY_DEFAULT, type Target } from "@perdure/state-machine";
import { firingKey, timeText } from "./firing-key.js";
import { RETENTION_MS_MIN } from "./limits.js";
import type { ScheduleRecord } from "./schedule.js";

/** Headers by which a handler recognises a call of a schedule: which schedule, and for which time (UTC). */
const SCHEDULE_ID_HEADER = "x-perdure-schedule-id";
const SCHEDULE_NAME_HEADER = "x-perdure-schedule-name";
const SCHEDULED_TIME_HEADER = "x-perdure-scheduled-time";

/** `mark` distinguishes the firings of one schedule. */
interface Firing {
  readonly nominalMs: number;
  readonly mark: string;
}

type FiringCommand =
  | { readonly kind: "command"; readonly command: Invoke }
  /** The handler is not registered (any more), or has another kind than when the schedule was created. */
  | { readonly kind: "impossible"; readonly reason: string };

/** A firing of a time of the timetable. */
export function scheduledFiring(nominalMs: number): Firing {
  return { nominalMs, mark: timeText(nominalMs) };
}

/** A firing by hand; `key` distinguishes it from others. */
export function manualFiring(nowMs: number, key: string): Firing {
  return { nominalMs: nowMs, mark: `manual/${key}` };
}

export function firingCommand(record: ScheduleRecord, firing: Firing, registry: RegistryView, nowMs: number): FiringCommand {
  const target = targetOf(record, firing, registry);
  if (typeof target === "string") return { kind: "impossible", reason: target };
  const { scope, service, key, handler } = target;
  const handlerView = registry.current().services.get(service)?.handlers.get(handler);
  if (handlerView === undefined) return { kind: "impossible", reason: `'${service}/${handler}' is not registered` };
  const mark = `${record.id}/${firing.mark}`;
  const isWorkflow = target.handlerType === "workflow";
  const idempotencyKey = isWorkflow ? undefined : mark;
  const retentions = retentionsOf(handlerView, idempotencyKey);
  const id = isWorkflow && key !== undefined ? workflowInvocationId(service, key, scope) : idempotentInvocationId(target, mark);
  const command: Invoke = {
    kind: "invoke",
    id,
    facts: {
      id,
      target,
      source: { kind: "ingress" },
      idempotencyKey,
      limitKey: record.target.limitKey,
      priority: record.target.priority ?? PRIORITY_DEFAULT,
      requestId: isWorkflow ? requestIdOf(mark) : 0,
      createdAtMs: nowMs,
      executionTimeMs: undefined,
      completionRetentionMs: Math.max(retentions.completionMs, RETENTION_MS_MIN),
      journalRetentionMs: retentions.journalMs,
      randomSeed: undefined,
      trace: undefined,
      bytes: undefined,
    },
    input: encodeInput(headersOf(record, firing), fromBase64(record.payload.base64)),
    sink: undefined,
  };
  return { kind: "command", command };
}

/** Returns the target as it is registered now, or the reason why there is none. */
function targetOf(record: ScheduleRecord, firing: Firing, registry: RegistryView): Target | string {
  const { scope, service, handler, key: template } = record.target;
  const view = registry.current().services.get(service)?.handlers.get(handler);
  if (view === undefined) return `'${service}/${handler}' is not registered`;
  const isKeyed = view.serviceType !== "service";
  if (!isKeyed && template !== undefined) return `'${service}' has become a service and takes no key`;
  if (isKeyed && template === undefined && view.handlerType !== "workflow") return `'${service}/${handler}' needs a key`;
  const key = isKeyed ? firingKey(template ?? "{time}", record, firing.nominalMs) : undefined;
  return { scope, service, key, handler, serviceType: view.serviceType, handlerType: view.handlerType };
}

/** Headers of the definition, then ours. They cannot collide, because names were checked when the schedule was created. */
function headersOf(record: ScheduleRecord, { nominalMs }: Firing): readonly Header[] {
  const headers: Header[] = [];
  if (record.payload.contentType !== undefined) headers.push({ key: "content-type", value: record.payload.contentType });
  for (const [key, value] of Object.entries(record.headers)) headers.push({ key, value });
  headers.push({ key: SCHEDULE_ID_HEADER, value: record.id });
  headers.push({ key: SCHEDULE_NAME_HEADER, value: record.name });
  headers.push({ key: SCHEDULED_TIME_HEADER, value: timeText(nominalMs) });
  return headers;
}

/**
 * 48 bits that are the same for the same firing, never 0: they distinguish a workflow run of this firing from one that existed before.
 */
function requestIdOf(mark: string): number {
  return Number(hashString(mark) >> 16n) || 1;
}
