/** Reads the form, cookies and query of requests to pages and OAuth; all bounded, and repeated names are refused. */
import type { Clock } from "@perdure/base";
import { TenancyApiError, wholeBody } from "@perdure/cloud-requests";
import type { Request, Response } from "express";
import { FORM_BYTES_MAX, RETURN_CHARS_MAX } from "./limits.js";

/** Rejects with PERD0400 for a body that is not a form or repeats a field, PERD0413 when it is too long, PERD0408 when it is too slow. */
export async function formOf(req: Request, clock: Clock): Promise<ReadonlyMap<string, string>> {
  if (!/^application\/x-www-form-urlencoded(;|$)/i.test(req.headers["content-type"] ?? "")) {
    throw new TenancyApiError("PERD0400", "The request is not a form");
  }
  const bytes = await wholeBody(req, { bytesMax: FORM_BYTES_MAX, tooLong: "The form is too long", clock });
  return fieldsOf(new URLSearchParams(Buffer.from(bytes).toString("utf8")));
}

export function queryOf(req: Request): ReadonlyMap<string, string> {
  const at = req.url.indexOf("?");
  return fieldsOf(new URLSearchParams(at < 0 ? "" : req.url.slice(at + 1)));
}

function fieldsOf(params: URLSearchParams): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of params) {
    if (fields.has(name)) throw new TenancyApiError("PERD0400", "A field is given twice");
    fields.set(name, value);
  }
  return fields;
}

export function cookieOf(req: Request, name: string): string | undefined {
  for (const pair of (req.headers.cookie ?? "").split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

export function setCookie(res: Response, name: string, value: string, maxAgeMs: number, isSecure: boolean): void {
  const seconds = Math.floor(maxAgeMs / 1_000);
  const parts = [`${name}=${value}`, "Path=/", "HttpOnly", "SameSite=Lax", `Max-Age=${seconds}`, ...(isSecure ? ["Secure"] : [])];
  res.append("set-cookie", parts.join("; "));
}

/** Paths that users are never redirected back to: paths that are not a page, and pages of sign-in itself. */
const NOT_BACK = /^\/(?:login|sign-up|sign-out|verify|password|cloud|console|oauth|assets|\.well-known)(?:[/?#]|$)/;
/** One slash, then valid characters of a path: no text that two programs could read as different hosts. */
const PATH = /^\/(?![/\\])[\w\-./~%!$&'()*+,;=:@?#[\]{}|^`]*$/;
/** A host name that cannot exist. */
const OURS = "https://console.invalid";

/** The path to return to after sign-in: a page of this server, never another site. `/` for every other text. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > RETURN_CHARS_MAX || !PATH.test(text) || !URL.canParse(text, OURS)) return "/";
  const { origin, pathname, search, hash } = new URL(text, OURS);
  // As a browser resolves it: `/.//evil.test` becomes `//evil.test`.
  const path = `${pathname}${search}${hash}`;
  return origin === OURS && !pathname.includes("//") && !NOT_BACK.test(path) ? path : "/";
}
