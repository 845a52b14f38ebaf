/**
 * The filter of the list is in its address, so that it can be shared and Back works. Pure: the query of the address to a filter and back,
 * and the filter as chips.
 */
import { conditionOf, INVOCATION_STATUSES, type InvocationFilter, type InvocationResult } from "@perdure/admin-client";
import { dateTimeText, durationText } from "../../kit/time-text.js";

export const SORTS = ["-created", "created", "-modified", "modified"] as const;
/** Sorts by creation or by change; `-`: the newest first. */
export type Sort = (typeof SORTS)[number];

/** Fields of the filter that are one text. */
const TEXTS = [
  ["idempotencyKey", "idempotency-key"],
  ["invokedBy", "invoked-by"],
  ["scope", "scope"],
  ["limitKey", "limit-key"],
  ["failureText", "failure"],
  ["where", "where"],
] as const;
/** Fields that are several. */
const LISTS = [
  ["services", "service"],
  ["handlers", "handler"],
  ["keys", "key"],
  ["ids", "id"],
  ["deployments", "deployment"],
] as const;

type Writable = { -readonly [K in keyof InvocationFilter]: InvocationFilter[K] };

/** Unknown parts are left out. `status` has `succeeded` and `failed`, too. */
export function filterOf(query: URLSearchParams): InvocationFilter {
  const filter: Writable = {};
  const names = query.getAll("status").flatMap((text) => text.split(","));
  const statuses = INVOCATION_STATUSES.filter((status) => names.includes(status));
  const ends = RESULTS.filter(([status]) => names.includes(status)).map(([, result]) => result);
  if (statuses.length > 0) filter.statuses = statuses;
  if (ends.length > 0) filter.orEndedWith = ends;
  for (const [field, name] of LISTS) {
    const values = query.getAll(name).filter((value) => value !== "");
    if (values.length > 0) filter[field] = values;
  }
  for (const [field, name] of TEXTS) {
    const value = query.get(name);
    if (value !== null && value !== "") filter[field] = value;
  }
  const created = rangeOf(query.get("created"));
  if (created.withinMs !== undefined) filter.createdWithinMs = created.withinMs;
  if (created.fromMs !== undefined) filter.createdAfterMs = created.fromMs;
  if (created.toMs !== undefined) filter.createdBeforeMs = created.toMs;
  const changed = rangeOf(query.get("modified"));
  if (changed.withinMs !== undefined) filter.modifiedWithinMs = changed.withinMs;
  if (changed.fromMs !== undefined) filter.modifiedAfterMs = changed.fromMs;
  if (changed.toMs !== undefined) filter.unchangedSinceMs = changed.toMs;
  return filter;
}

export const RESULTS = [
  ["succeeded", "success"],
  ["failed", "failure"],
] as const satisfies readonly (readonly [string, InvocationResult])[];

/** All values of the status filter: those of `sys_invocation`, with the results of completed ones. */
export const STATUS_CHOICES = [
  ...INVOCATION_STATUSES.filter((status) => status !== "completed"),
  ...RESULTS.map(([status]) => status),
] as const;

export function statusesOf({ statuses = [], orEndedWith = [] }: InvocationFilter): readonly string[] {
  return [...statuses, ...RESULTS.filter(([, result]) => orEndedWith.includes(result)).map(([status]) => status)];
}

/** The same filter with these statuses. */
export function withStatuses(filter: InvocationFilter, chosen: readonly string[]): InvocationFilter {
  const { statuses: _statuses, orEndedWith: _ends, ...others } = filter;
  const statuses = chosen.flatMap((status) => INVOCATION_STATUSES.find((one) => one === status) ?? []);
  const ends = RESULTS.filter(([status]) => chosen.includes(status)).map(([, result]) => result);
  return {
    ...others,
    ...(statuses.length === 0 ? {} : { statuses }),
    ...(ends.length === 0 ? {} : { orEndedWith: ends }),
  };
}

/** The query of an address, without `?`; empty when nothing is filtered and the sort is the usual one. */
export function queryOf(filter: InvocationFilter, sort: Sort = "-created"): URLSearchParams {
  const query = new URLSearchParams();
  for (const status of statusesOf(filter)) query.append("status", status);
  for (const [field, name] of LISTS) for (const value of filter[field] ?? []) query.append(name, value);
  for (const [field, name] of TEXTS) {
    const value = filter[field];
    if (value !== undefined) query.set(name, value);
  }
  const { createdWithinMs, createdAfterMs, createdBeforeMs, modifiedWithinMs, modifiedAfterMs, unchangedSinceMs } = filter;
  const created = rangeText({ withinMs: createdWithinMs, fromMs: createdAfterMs, toMs: createdBeforeMs });
  const changed = rangeText({ withinMs: modifiedWithinMs, fromMs: modifiedAfterMs, toMs: unchangedSinceMs });
  if (created !== undefined) query.set("created", created);
  if (changed !== undefined) query.set("modified", changed);
  if (sort !== "-created") query.set("sort", sort);
  return query;
}

export function sortOf(query: URLSearchParams): Sort {
  return SORTS.find((sort) => sort === query.get("sort")) ?? "-created";
}

/** A span back from now, or between two moments, either of them open. */
export interface TimeRange {
  readonly withinMs?: number | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `15m`, `1h`, `7d`; or `2026-11-22T00:00:00.000Z..2026-11-23T00:00:00.000Z`, either end missing. */
export function rangeOf(text: string | null): TimeRange {
  const span = /^([1-9]\d{0,5})([smhd])$/.exec(text ?? "");
  if (span !== null) return { withinMs: Number(span[1]) * (UNITS_MS[span[2] ?? ""] ?? 0) };
  const ends = /^(.*)\.\.(.*)$/.exec(text ?? "");
  if (ends === null) return {};
  return { fromMs: momentOf(ends[1]), toMs: momentOf(ends[2]) };
}

function momentOf(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}

export function rangeText({ withinMs, fromMs, toMs }: TimeRange): string | undefined {
  if (withinMs !== undefined) {
    const [unit, length] = Object.entries(UNITS_MS).findLast(([, each]) => withinMs % each === 0) ?? ["s", 1_000];
    return `${Math.ceil(withinMs / length)}${unit}`;
  }
  if (fromMs === undefined && toMs === undefined) return undefined;
  return `${fromMs === undefined ? "" : new Date(fromMs).toISOString()}..${toMs === undefined ? "" : new Date(toMs).toISOString()}`;
}

/** A part of the filter, and the filter without it. */
interface Chip {
  readonly name: string;
  readonly text: string;
  readonly without: InvocationFilter;
}

export function chipsOf(filter: InvocationFilter): readonly Chip[] {
  const chips: Chip[] = [];
  const statuses = statusesOf(filter);
  if (statuses.length > 0) chips.push({ name: "Status", text: statuses.join(", "), without: withStatuses(filter, []) });
  for (const [field, name] of LISTS) {
    const values = filter[field];
    if (values !== undefined) chips.push({ name: NAMES[name], text: values.join(", "), without: without(filter, [field]) });
  }
  for (const [field, name] of TEXTS) {
    const value = filter[field];
    // A condition that the user wrote is shown in the text field.
    if (value !== undefined && field !== "where")
      chips.push({ name: NAMES[name], text: value, without: without(filter, [field]) });
  }
  const created = { withinMs: filter.createdWithinMs, fromMs: filter.createdAfterMs, toMs: filter.createdBeforeMs };
  const changed = { withinMs: filter.modifiedWithinMs, fromMs: filter.modifiedAfterMs, toMs: filter.unchangedSinceMs };
  if (rangeText(created) !== undefined)
    chips.push({
      name: "Created",
      text: rangeLabel(created),
      without: without(filter, ["createdWithinMs", "createdAfterMs", "createdBeforeMs"]),
    });
  if (rangeText(changed) !== undefined)
    chips.push({
      name: "Last modified",
      text: rangeLabel(changed),
      without: without(filter, ["modifiedWithinMs", "modifiedAfterMs", "unchangedSinceMs"]),
    });
  return chips;
}

const NAMES = {
  service: "Service",
  handler: "Handler",
  key: "Key",
  id: "Id",
  deployment: "Deployment",
  "idempotency-key": "Idempotency key",
  "invoked-by": "Invoked by",
  scope: "Scope",
  "limit-key": "Limit key",
  failure: "Failure contains",
  where: "Expression",
} as const;

function without(filter: InvocationFilter, fields: readonly (keyof InvocationFilter)[]): InvocationFilter {
  return Object.fromEntries(Object.entries(filter).filter(([field]) => !fields.some((one) => one === field)));
}

function rangeLabel({ withinMs, fromMs, toMs }: TimeRange): string {
  if (withinMs !== undefined) return `the last ${durationText(withinMs)}`;
  const [from, to] = [fromMs, toMs].map((ms) => (ms === undefined ? undefined : localMoment(ms)));
  if (from === undefined) return `before ${to}`;
  return to === undefined ? `since ${from}` : `${from} to ${to}`;
}

function localMoment(ms: number): string {
  return dateTimeText(ms, true);
}

/** A moment for a field of local date and time, and back; empty when there is none. */
export function localFieldOf(ms: number | undefined): string {
  if (ms === undefined) return "";
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

export function momentOfLocalField(text: string): number | undefined {
  return momentOf(text);
}

/** The filter as text for the user to read and edit; empty when there is none. Throws RangeError when `where` is incomplete. */
export function lineOf(filter: InvocationFilter): string {
  const { where, ...others } = filter;
  if (where !== undefined && conditionOf(others) === undefined) return where;
  return conditionOf(filter) ?? "";
}

const ID = /^inv_1[0-9A-Za-z]{20,60}$/;

/** The id of one invocation, if the text is one. */
export function idIn(text: string): string | undefined {
  const trimmed = text.trim();
  return ID.test(trimmed) ? trimmed : undefined;
}
