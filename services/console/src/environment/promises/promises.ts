/** Finds promises of workflows by workflow, key and state. Pure: text in, SQL out; rows in, text out. */
import { type SqlRow, sqlText } from "@perdure/admin-client";
import { textOf } from "../rows.js";

/** Promises on the page; with more of them the user narrows the search. */
export const PROMISES_SHOWN_MAX = 200;

interface PromiseFilter {
  /** Empty: all. */
  readonly service: string;
  readonly part: string;
  readonly state: string;
}

export interface PromiseLine {
  readonly service: string;
  readonly key: string;
  readonly name: string;
  readonly state: "pending" | "resolved" | "rejected";
  /** Value of the promise as text, or the reason of its rejection; undefined while it is pending, and for bytes that are not text. */
  readonly outcome: string | undefined;
}

/** One more than are shown. */
export function promisesStatement({ service, part, state }: PromiseFilter): string {
  const conditions = [
    ...(service === "" ? [] : [`service_name = ${sqlText(service)}`]),
    ...(part === "" ? [] : [`contains(service_key, ${sqlText(part)})`]),
    ...(state === "pending" ? ["completed = false"] : state === "settled" ? ["completed = true"] : []),
  ];
  return (
    "SELECT service_name, service_key, key, completed, completion_success_value_utf8, completion_failure FROM sys_promise" +
    `${conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`}` +
    ` ORDER BY service_name, service_key, key LIMIT ${PROMISES_SHOWN_MAX + 1}`
  );
}

export function promiseLine(row: SqlRow): PromiseLine {
  const failure = textOf(row, "completion_failure");
  return {
    service: textOf(row, "service_name") ?? "",
    key: textOf(row, "service_key") ?? "",
    name: textOf(row, "key") ?? "",
    state: row["completed"] !== true ? "pending" : failure === undefined ? "resolved" : "rejected",
    outcome: failure ?? textOf(row, "completion_success_value_utf8"),
  };
}
