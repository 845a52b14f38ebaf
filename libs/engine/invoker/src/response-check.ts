/** Interprets an endpoint's response head for the attempt (service-protocol §1.5). */
import { type AttemptFailure, failure } from "./attempt-failure.js";
import { QUOTED_CHARS_MAX } from "./limits.js";

export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** Returns undefined when the attempt may continue. `nowMs` is for `Retry-After` dates. */
export function responseFailure(
  status: number,
  headers: ResponseHeaders,
  contentType: string,
  nowMs: number,
): AttemptFailure | undefined {
  if (status >= 200 && status < 300) return headFailure(headers, contentType);
  switch (status) {
    case 413:
      return failure("RT0019", "the endpoint refused the request as too large (413)");
    case 415:
      return failure("RT0015", `the endpoint no longer accepts ${contentType} (415)`, { code: 415, countsForSdk: false });
    case 429:
    case 503:
      return failure("RT0023", `the endpoint is overloaded (${status})`, {
        nextRetryDelayMs: retryAfterMs(headers["retry-after"], nowMs),
      });
    case 502:
    case 504:
      return failure("RT0010", `a gateway before the endpoint answered ${status}`);
    default:
      return failure("RT0012", `unexpected HTTP status ${status} from the endpoint`);
  }
}

function headFailure(headers: ResponseHeaders, contentType: string): AttemptFailure | undefined {
  const given = headers["content-type"];
  if (given !== contentType) {
    const quoted = given === undefined ? "none" : `"${given.slice(0, QUOTED_CHARS_MAX)}"`;
    return failure("RT0012", `the endpoint answered with content type ${quoted} instead of ${contentType}`);
  }
  const server = headers["x-restate-server"];
  if (server !== undefined && !/^[\x20-\x7e]*$/.test(server)) return failure("RT0012", "header x-restate-server is not text");
  return undefined;
}

/** Milliseconds that a `Retry-After` header requests: whole seconds, or a date in the future; undefined for any other value. */
export function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) || atMs <= nowMs ? undefined : atMs - nowMs;
}
