/**
 * Readers of the tree that the engine prints as JSON in an undocumented form. They validate each part: a missing part or a part of
 * another shape is treated as absent.
 */
export type SyntaxNode = { readonly [key: string]: unknown };

/** A text, or a number that the engine prints and JSON cannot represent. */
const TEXT_OR_NO_NUMBER = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;

/** In any text that has an integer beyond 2^53. */
const LONG_NUMBER = /\d{16}/;

/** The tree that the engine printed; integers that a double cannot hold are bigint, infinite numbers null. */
export function parseTree(json: string): unknown {
  const readable = /Infinity|NaN/.test(json)
    ? json.replace(TEXT_OR_NO_NUMBER, (match) => (match.startsWith('"') ? match : "null"))
    : json;
  if (!LONG_NUMBER.test(readable)) return JSON.parse(readable); // Several times as fast.
  return JSON.parse(readable, (_key, value, { source }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "") ? BigInt(source ?? "") : value,
  );
}

declare global {
  interface JSON {
    /** Newer than the type declarations: `source` is the number as written in the text. */
    parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
    /** Newer than the type declarations: a value that `stringify` writes as `text`. */
    rawJSON(text: string): unknown;
  }
}

/** A tree, or a value built from parts of one, as JSON for the engine. */
export function printTree(tree: unknown): string {
  return JSON.stringify(tree, (_key, value: unknown) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value));
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function child(node: SyntaxNode, key: string): SyntaxNode | undefined {
  const value = node[key];
  return isNode(value) ? value : undefined;
}

export function children(node: SyntaxNode, key: string): readonly SyntaxNode[] {
  const value = node[key];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** A property that is a non-empty text. */
export function text(node: SyntaxNode, key: string): string | undefined {
  const value = node[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Every object in the tree, the root first. */
export function* nodes(tree: unknown): Iterable<SyntaxNode> {
  const waiting: unknown[] = [tree];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== "object" || value === null) continue;
    if (isNode(value)) yield value;
    for (const inner of Object.values(value)) waiting.push(inner);
  }
}
