/**
 * Descriptions of services come from their code as markdown, and users who register deployments are not trusted: raw HTML
 * is shown as text, links lead to the web or to a mail address only, pictures are replaced by their alternative text. Pure.
 */
import { Marked } from "marked";

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ text, href }) => escaped(text || href),
    heading({ tokens }) {
      // The page has headings of its own.
      return `<p><strong>${this.parser.parseInline(tokens)}</strong></p>\n`;
    },
    link({ href, tokens }) {
      const linkText = this.parser.parseInline(tokens);
      const address = webAddress(href);
      return address === undefined
        ? linkText
        : `<a href="${escaped(address)}" rel="noreferrer noopener" target="_blank">${linkText}</a>`;
    },
  },
});

/** A URL as browsers parse it; undefined when it does not lead to the web or to a mail address. */
function webAddress(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const { protocol, href: whole } = new URL(href);
  return ["https:", "http:", "mailto:"].includes(protocol) ? whole : undefined;
}

export function markdownHtml(text: string): string {
  return marked.parse(text, { async: false });
}
