/**
 * Finds many secrets in a text in one pass: at each place a filter over the next characters decides whether a secret can begin there, and a
 * radix tree finds the longest one that does. The number of secrets does not matter for the time.
 *
 *     secrets  hunter22 hunter23 sk_live_1        tree  ┬ hunter2 ┬ 2
 *                                                       │         └ 3
 *                                                       └ sk_live_1
 */
import { utf8 } from "@perdure/base";

/** A longer secret is searched for in pieces of this length, so that a place costs no more comparisons than that. */
const PIECE_CHARS = 256;
/** Characters that the filter is about. Every secret has at least as many. */
export const FILTERED_CHARS = 6;
const FILTER_BITS = 20;
const FILTER_MASK = (1 << FILTER_BITS) - 1;
const ASTERISK = "*";

interface Node {
  /** The characters that lead from the parent to here. */
  label: string;
  /** A secret ends here. */
  isEnd: boolean;
  /** By the first character of their labels. */
  children: Map<number, Node> | undefined;
}

export class SecretSearch {
  readonly #root: Node = { label: "", isEnd: false, children: undefined };
  readonly #filter = new Uint8Array(1 << FILTER_BITS);

  /** `secret` has at least `FILTERED_CHARS` characters. */
  add(secret: string): void {
    const { length } = secret;
    for (let at = 0; at < length; at += PIECE_CHARS) {
      // The last piece is a whole one, so that it is not too short to be searched for.
      if (length <= PIECE_CHARS) this.#insert(secret);
      else this.#insert(secret.substring(Math.min(at, length - PIECE_CHARS), Math.min(at + PIECE_CHARS, length)));
    }
  }

  /** The text with an asterisk for each byte of UTF-8 of every secret in it, also where secrets overlap; the text itself when there is none. */
  replaced(text: string): string {
    let pieces: string[] | undefined;
    let copied = 0;
    /** Bounds of the secrets at or before the present place that are connected. */
    let [from, to] = [0, 0];
    const close = (): void => {
      if (to === from) return;
      pieces ??= [];
      pieces.push(text.substring(copied, from), ASTERISK.repeat(utf8(text.substring(from, to)).length));
      copied = to;
    };
    for (let at = 0; at + FILTERED_CHARS <= text.length; at++) {
      if (this.#filter[filterIndex(text, at)] === 0) continue;
      const end = this.#longestFrom(text, at);
      if (end <= to) continue;
      if (at > to) {
        close();
        from = at;
      }
      to = end;
    }
    close();
    if (pieces === undefined) return text;
    pieces.push(text.substring(copied));
    return pieces.join("");
  }

  #insert(secret: string): void {
    this.#filter[filterIndex(secret, 0)] = 1;
    let node = this.#root;
    for (let at = 0; ; ) {
      if (at === secret.length) {
        node.isEnd = true;
        return;
      }
      const first = secret.charCodeAt(at);
      node.children ??= new Map();
      const child = node.children.get(first);
      if (child === undefined) {
        node.children.set(first, { label: secret.substring(at), isEnd: true, children: undefined });
        return;
      }
      const common = commonChars(child.label, secret, at);
      if (common < child.label.length) {
        const rest: Node = { ...child, label: child.label.substring(common) };
        child.label = child.label.substring(0, common);
        child.children = new Map([[rest.label.charCodeAt(0), rest]]);
        child.isEnd = false;
      }
      at += common;
      node = child;
    }
  }

  /** End of the longest secret that begins at this place; 0 when none does. */
  #longestFrom(text: string, begin: number): number {
    let longest = 0;
    let at = begin;
    for (let node = this.#root.children?.get(text.charCodeAt(at)); node !== undefined; ) {
      if (!text.startsWith(node.label, at)) break;
      at += node.label.length;
      if (node.isEnd) longest = at;
      node = at < text.length ? node.children?.get(text.charCodeAt(at)) : undefined;
    }
    return longest;
  }
}

function filterIndex(text: string, at: number): number {
  let hash = 0;
  for (let n = 0; n < FILTERED_CHARS; n++) hash = Math.imul(hash, 31) + text.charCodeAt(at + n);
  return (hash ^ (hash >>> FILTER_BITS)) & FILTER_MASK;
}

/** Characters that the label and the secret from `at` have in common at their beginnings. */
function commonChars(label: string, secret: string, at: number): number {
  let common = 0;
  while (common < label.length && label.charCodeAt(common) === secret.charCodeAt(at + common)) common++;
  return common;
}
