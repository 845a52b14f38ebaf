/** Links between error pages and documents, which are files, become links to pages of the console, or plain text. Pure. */

type ErrorLink =
  | { readonly kind: "page"; readonly code: string }
  | { readonly kind: "web"; readonly href: string }
  /** A document that the console does not carry. */
  | { readonly kind: "words" };

/** Target of a link of `docs/errors/*.md`. */
export function errorLink(href: string): ErrorLink {
  const code = /^(?:\.\/)?([A-Z]+\d{4})\.md(?:#.*)?$/.exec(href)?.[1];
  if (code !== undefined) return { kind: "page", code };
  return /^https?:\/\//.test(href) ? { kind: "web", href } : { kind: "words" };
}
