/** Copies headers of forwarded requests and answers, without those of one connection (RFC 9110 §7.6.1) and those that name the host. */
import { HOP_BY_HOP_HEADERS, namedByConnection } from "@perdure/http-server";

const CREDENTIALS_OF_PROXIES: ReadonlySet<string> = new Set(["proxy-authenticate", "proxy-authorization"]);

type RawHeaders = Readonly<Record<string, string | string[] | number | undefined>>;

/** Names in lower case, without pseudo headers, hop-by-hop ones and those in `dropped`. */
export function passedHeaders(headers: RawHeaders, dropped: ReadonlySet<string>): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  const connection = headers["connection"];
  const named = namedByConnection(typeof connection === "string" ? connection : undefined);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || typeof value === "number" || name.charCodeAt(0) === 58) continue; // 58 = ':'
    if (HOP_BY_HOP_HEADERS.has(name) || CREDENTIALS_OF_PROXIES.has(name) || dropped.has(name) || named.has(name)) continue;
    passed[name] = value;
  }
  return passed;
}

/** Whether Node's HTTP/2 accepts the number as status of an answer; it throws on all others. */
export function isFinalStatus(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 599;
}

/** JSON body of errors, as all APIs of the cloud have it (cloud.md §1.4). */
export function errorBody(code: number, message: string): string {
  return JSON.stringify({ code, message });
}
