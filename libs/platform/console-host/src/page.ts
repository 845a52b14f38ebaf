/**
 * The page is the same for every client except for its boot data and its nonce. Only scripts of the page carry the nonce, so a script that
 * user data brought into the page does not run (CSP level 3, §8).
 */
import { randomBytes } from "node:crypto";
import { PerdureError } from "@perdure/base";

const PLACEHOLDERS = /__(NONCE|BASE|BOOT)__/;

/** Makes the page for one response. */
export type PageTemplate = (nonce: string, boot: unknown) => string;

/**
 * Splits the page at its placeholders once, so inserted text is never searched for placeholders. Throws OPS0001 when a placeholder is
 * missing.
 */
export function pageTemplate(page: string, base: string): PageTemplate {
  const parts = page.split(PLACEHOLDERS); // Every second part is the name of a placeholder.
  for (const name of ["NONCE", "BASE", "BOOT"]) {
    const isThere = parts.some((part, index) => index % 2 === 1 && part === name);
    if (!isThere) throw new PerdureError("OPS0001", `the page is not the console's: it has no __${name}__`);
  }
  return (nonce, boot) => {
    const put: Readonly<Record<string, string>> = { NONCE: nonce, BASE: base, BOOT: scriptJson(boot) };
    return parts.map((part, index) => (index % 2 === 1 ? put[part] : part)).join("");
  };
}

/** JSON that cannot end the script element around it, begin a comment, or contain a line separator of JavaScript. */
function scriptJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** 128 random bits, for one response. */
export function newNonce(): string {
  return randomBytes(16).toString("base64url");
}

/** `connect`: origins that the page may call beside its own. */
export function policyOf(nonce: string, connect: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    ["connect-src 'self'", ...connect].join(" "),
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join("; ");
}
