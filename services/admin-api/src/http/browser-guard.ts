/**
 * Refuses requests from web pages of other origins. This port has no authentication, because by default only this machine reaches it; but
 * so do the pages of all web sites that a user of this machine opens. Such a page can send requests that change things, though it cannot
 * read the answers (cross-site request forgery), and a page whose host name resolves to this machine could read them too (DNS rebinding).
 * Other clients are not checked.
 *
 * Browsers state the origin of a request in headers that no page can forge or omit: `origin`, `sec-fetch-site`, and, where the address is
 * not a secure one, at least `accept-language`.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { type ErrorCode, PerdureError } from "@perdure/base";
import type { GuardRefusal, RequestGuard } from "@perdure/http-server";

interface BrowserGuardOptions {
  /** Address of the API from outside, if configured. */
  readonly advertisedAddress?: string | undefined;
  /** Further host names of the API, `console.corp.example` or `localhost:5173`; the latter is valid only with that port. */
  readonly allowedHosts: readonly string[];
}

/** Refuses with OPS0100 (another origin) and OPS0101 (another host name). */
export function browserGuard({ advertisedAddress, allowedHosts }: BrowserGuardOptions): RequestGuard {
  const advertised = advertisedAddress === undefined ? [] : [new URL(advertisedAddress).host];
  const hosts: ReadonlySet<string> = new Set([...advertised, ...allowedHosts].map((host) => host.toLowerCase()));
  const hostnames: ReadonlySet<string> = new Set([...hosts].map(hostnameOf));
  return {
    hidden: [],
    refusal(method, _target, headers) {
      if (!isBrowser(headers)) return undefined;
      const host = (headers.host ?? "").toLowerCase();
      if (!isOurs(hostnameOf(host), hostnames)) return otherHost(host);
      if (READS.has(method) || isFromHere(headers, host, hosts)) return undefined;
      return OTHER_ORIGIN;
    },
  };
}

/** Runs the guards in order; the first refusal is the result. */
export function guardsInTurn(guards: readonly (RequestGuard | undefined)[]): RequestGuard {
  const all = guards.filter((guard) => guard !== undefined);
  return {
    hidden: all.flatMap(({ hidden }) => hidden),
    refusal(method, target, headers) {
      for (const guard of all) {
        const refusal = guard.refusal(method, target, headers);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    },
  };
}

/** Methods that change nothing here; pages of other origins cannot read the answers. */
const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Node's own `fetch` is not a browser: it sends `sec-fetch-mode`, but no `sec-fetch-site`. */
function isBrowser(headers: IncomingHttpHeaders): boolean {
  if (headers.origin !== undefined || headers["sec-fetch-site"] !== undefined) return true;
  return headers["accept-language"] !== undefined && headers["sec-fetch-mode"] === undefined;
}

function isFromHere({ origin, "sec-fetch-site": site }: IncomingHttpHeaders, host: string, hosts: ReadonlySet<string>): boolean {
  if (origin === undefined) return site !== "cross-site" && site !== "same-site";
  if (origin === "null" || !URL.canParse(origin)) return false;
  const from = new URL(origin);
  if (hosts.has(from.host)) return true;
  if (site === "cross-site") return false;
  // The default port is that of the page's scheme, because a proxy may terminate TLS.
  const hostUrl = `${from.protocol}//${host}`;
  return URL.canParse(hostUrl) && new URL(hostUrl).host === from.host;
}

/** Host names that others cannot resolve to another address. */
function isOurs(name: string, hostnames: ReadonlySet<string>): boolean {
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || hostnames.has(name);
}

/** The host name without its port and the trailing dot of a fully qualified name. */
function hostnameOf(host: string): string {
  return host.replace(/:\d+$/, "").replace(/\.$/, "");
}

/** Characters of a header that an error message repeats. */
const SHOWN_CHARS_MAX = 100;

function otherHost(host: string): GuardRefusal {
  const shown = host.slice(0, SHOWN_CHARS_MAX);
  return refused(
    "OPS0101",
    `browsers do not reach the management API as '${shown}'; if it is yours, add it to 'admin.allowed-hosts'`,
  );
}

const OTHER_ORIGIN = refused("OPS0100", "a web page of another origin cannot change anything here");

function refused(code: ErrorCode, detail: string): GuardRefusal {
  const { http, message } = new PerdureError(code, detail);
  return { status: http, headers: { "cache-control": "no-store" }, body: JSON.stringify({ message, restate_code: code }) };
}
