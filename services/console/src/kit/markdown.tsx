/** Markdown of untrusted text. Not part of `kit/index.js`: only pages that are loaded on demand contain the parser. */
import { useMemo } from "react";
import { markdownHtml } from "./markdown-html.js";
import "./markdown.css";

export function Markdown({ text }: { readonly text: string }) {
  const html = useMemo(() => markdownHtml(text), [text]);
  // biome-ignore lint/security/noDangerouslySetInnerHtml: raw HTML of the text was escaped, see `markdown-html.ts`
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
