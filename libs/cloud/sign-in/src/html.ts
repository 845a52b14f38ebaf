/** Login pages are plain HTML without scripts. Every value in a page is escaped, unless it is HTML itself. */
import { MARK, STYLE, STYLE_HASH } from "./appearance.js";

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlPart = Html | string | number | undefined | readonly Html[];

export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let text = strings[0] ?? "";
  for (const [i, part] of parts.entries()) text += written(part) + (strings[i + 1] ?? "");
  return new Html(text);
}

function written(part: HtmlPart): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "object" ? part.map(({ text }) => text).join("") : escaped(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? "");
}

/** Nothing is loaded, no script runs, framing is forbidden, and forms go to this server only. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** Id of the error, which its fields refer to for screen readers. */
export const PROBLEM_ID = "problem";

export function page(title: string, body: Html, problem?: string): string {
  const problemHtml = problem === undefined ? undefined : html`<p class="problem" role="alert" id="${PROBLEM_ID}">${problem}</p>`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${problem === undefined ? "" : "Problem: "}${title} · Perdure</title>
<style>${new Html(STYLE)}</style></head><body><header class="brand"><a href="/">${new Html(MARK)}Perdure</a></header>
<main><h1>${title}</h1>${problemHtml}${body}</main></body></html>
`.text;
}
