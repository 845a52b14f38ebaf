/** Decodes the Huffman code of HPACK (RFC 7541 §5.2). */
import { HUFFMAN_BITS, HUFFMAN_EOS } from "./hpack-tables.js";

/** Longest padding of the last byte. */
const PADDING_BITS_MAX = 7;

/** A binary tree in one list: node n has its children at 2n and 2n + 1. A child is a node if positive, and −1 − symbol otherwise. */
const TREE = treeOf(HUFFMAN_BITS);

function treeOf(lengths: readonly number[]): Int16Array {
  const tree = new Int16Array(2 * lengths.length);
  let nodes = 1;
  const insert = (symbol: number, code: number, bits: number): void => {
    let node = 0;
    for (let bit = bits - 1; bit > 0; bit--) {
      const at = 2 * node + ((code >> bit) & 1);
      if (tree[at] === 0) tree[at] = nodes++;
      node = tree[at]!;
    }
    tree[2 * node + (code & 1)] = -1 - symbol;
  };
  let code = 0;
  for (let bits = 1; bits <= Math.max(...lengths); bits++) {
    for (const [symbol, length] of lengths.entries()) if (length === bits) insert(symbol, code++, bits);
    code <<= 1;
  }
  return tree;
}

/** Returns the text, one character for each byte; undefined when the bytes are no code of a text. */
export function huffmanText(bytes: Uint8Array, from: number, end: number): string | undefined {
  let text = "";
  let node = 0;
  let bitsOfSymbol = 0;
  let isPadding = true;
  for (let at = from; at < end; at++) {
    for (let bit = 7; bit >= 0; bit--) {
      const isOne = (bytes[at]! >> bit) & 1;
      bitsOfSymbol++;
      isPadding &&= isOne === 1;
      node = TREE[2 * node + isOne]!;
      if (node >= 0) continue;
      const symbol = -1 - node;
      if (symbol === HUFFMAN_EOS) return undefined;
      text += String.fromCharCode(symbol);
      node = 0;
      bitsOfSymbol = 0;
      isPadding = true;
    }
  }
  return isPadding && bitsOfSymbol <= PADDING_BITS_MAX ? text : undefined;
}
