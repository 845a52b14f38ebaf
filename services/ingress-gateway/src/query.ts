/**
 * The three query parameters of the ingress, `delay`, `limit-key` and, in a scope, `priority`; all others belong to the handler
 * (ingress.md §3.1).
 */
import { fromUtf8, parseDuration } from "@perdure/base";
import { percentDecodeBytes } from "./path.js";
import { badDelay, type IngressRefusal } from "./refusal.js";

export interface QueryParameters {
  readonly delay: string | undefined;
  readonly limitKey: string | undefined;
  readonly priority: string | undefined;
}

export const NO_PARAMETERS: QueryParameters = { delay: undefined, limitKey: undefined, priority: undefined };

/** Form-decoded values; the first occurrence of a name counts. Names are not case-sensitive. */
export function parseQuery(query: string): QueryParameters {
  let delay: string | undefined;
  let limitKey: string | undefined;
  let priority: string | undefined;
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const name = formDecode(equals < 0 ? pair : pair.slice(0, equals)).toLowerCase();
    if (name === "delay") delay ??= decodedValue(pair, equals);
    else if (name === "limit-key") limitKey ??= decodedValue(pair, equals);
    else if (name === "priority") priority ??= decodedValue(pair, equals);
  }
  return { delay, limitKey, priority };
}

function decodedValue(pair: string, equals: number): string {
  return equals < 0 ? "" : formDecode(pair.slice(equals + 1));
}

function formDecode(text: string): string {
  return fromUtf8(percentDecodeBytes(text.replaceAll("+", " ")));
}

/** Milliseconds of a `delay` value. */
export function parseDelay(text: string): number | IngressRefusal {
  const parsed = parseDuration(text);
  return parsed.ok ? parsed.ms : badDelay(parsed.reason);
}
