/** Why: two query parameters mean something to the ingress, `delay` and `limit-key`; all others are the handler's (ingress.md §3.1). */
import { fromUtf8, parseDuration } from "@perdure/base";
import { percentDecodeBytes } from "./path.js";
import { badDelay, type Refusal } from "./refusal.js";

export interface QueryParameters {
  readonly delay: string | undefined;
  readonly limitKey: string | undefined;
}

export const NO_PARAMETERS: QueryParameters = { delay: undefined, limitKey: undefined };

/** Form-decoded values; the first occurrence of a name wins. `delay` is found whatever its case. */
export function parseQuery(query: string): QueryParameters {
  let delay: string | undefined;
  let limitKey: string | undefined;
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const name = formDecode(equals < 0 ? pair : pair.slice(0, equals));
    if (delay === undefined && name.toLowerCase() === "delay") delay = equals < 0 ? "" : formDecode(pair.slice(equals + 1));
    else if (limitKey === undefined && name === "limit-key") limitKey = equals < 0 ? "" : formDecode(pair.slice(equals + 1));
  }
  return { delay, limitKey };
}

function formDecode(text: string): string {
  return fromUtf8(percentDecodeBytes(text.replaceAll("+", " ")));
}

/** Milliseconds of a `delay` value. */
export function parseDelay(text: string): number | Refusal {
  const parsed = parseDuration(text);
  return parsed.ok ? parsed.ms : badDelay(parsed.reason);
}
