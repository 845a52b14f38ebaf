/** Finds keys by a part of their text, page by page. Pure: text in, SQL out. */
import { type SqlRow, sqlOneOf, sqlText } from "@perdure/admin-client";
import { numberOf, textOf } from "../rows.js";
import { KEYS_SHOWN_MAX } from "./limits.js";

export interface KeyLine {
  readonly key: string;
  readonly entries: number;
  readonly bytes: number;
}

/** Keys of a service that have state, in order, after `after`, which contain `part`; one more than are shown. */
export function keysStatement(service: string, part: string, after: string | undefined): string {
  const conditions = [
    `service_name = ${sqlText(service)}`,
    ...(part === "" ? [] : [`contains(service_key, ${sqlText(part)})`]),
    ...(after === undefined ? [] : [`service_key > ${sqlText(after)}`]),
  ];
  return (
    "SELECT service_key, count(1) AS entries, sum(value_length) AS bytes FROM state " +
    `WHERE ${conditions.join(" AND ")} GROUP BY service_key ORDER BY service_key LIMIT ${KEYS_SHOWN_MAX + 1}`
  );
}

export function keyLine(row: SqlRow): KeyLine {
  return { key: textOf(row, "service_key") ?? "", entries: numberOf(row, "entries"), bytes: numberOf(row, "bytes") };
}

/** When the state of these keys expires; keys without a time to live have no row. */
export function expiriesStatement(service: string, keys: readonly string[]): string {
  return `SELECT service_key, expires_at FROM sys_state_expiry WHERE service_name = ${sqlText(service)} AND ${sqlOneOf("service_key", keys)}`;
}

/** Moments of expiry by key. */
export function expiriesOf(rows: readonly SqlRow[]): ReadonlyMap<string, string> {
  return new Map(rows.map((row) => [textOf(row, "service_key") ?? "", textOf(row, "expires_at") ?? ""]));
}

/** Below an environment. */
export function keyHref(service: string, key: string): string {
  return `/state/${encodeURIComponent(service)}/${encodeURIComponent(key)}`;
}

/** The page SQL with a statement over the values of all keys of the service, to be edited by the user. */
export function valuesHref(service: string): string {
  const statement = `SELECT service_key, key, value_utf8 FROM state WHERE service_name = ${sqlText(service)} ORDER BY service_key, key LIMIT 100`;
  return `/sql?${new URLSearchParams({ q: statement })}`;
}
