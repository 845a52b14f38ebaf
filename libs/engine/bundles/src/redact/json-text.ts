/**
 * Walks a JSON text token by token and replaces scalar values without changing anything else: white space, order of fields and the length
 * in bytes stay as they are, so that a handler decodes the same shape.
 */

import { SLICE_TOKENS, type Sliced } from "./slices.js";

/** A scalar value and its surroundings. */
export interface JsonScalar {
  /** As written, quotes included. */
  readonly text: string;
  /** Names of the fields around the value, outermost first; elements of an array have the name of the array. */
  readonly path: readonly string[];
  /** Number of the innermost object around the value, by the place where it begins; 0 outside of objects. */
  readonly object: number;
}

/** Returns the replacement of the text of a scalar, of the same length in bytes; or the text itself. */
export type ReplaceScalar = (scalar: JsonScalar) => string;

/**
 * `text` must be valid JSON. `replaceName` does with the names of fields, quotes included, what `replace` does with values. Yields after every
 * slice of a long text.
 */
export function* mapScalars(text: string, replace: ReplaceScalar, replaceName: (name: string) => string = same): Sliced<string> {
  const pieces: string[] = [];
  const path: string[] = [];
  /** For each open object or array: whether it is an object, and whether a name was pushed for its current member. */
  const open: { readonly isObject: boolean; readonly object: number; isNamed: boolean; expectsName: boolean }[] = [];
  let objects = 0;
  let tokens = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (++tokens % SLICE_TOKENS === 0) yield;
    const inside = open.at(-1);
    switch (token[0]) {
      case "{":
      case "[":
        open.push({
          isObject: token === "{",
          object: token === "{" ? ++objects : (inside?.object ?? 0),
          isNamed: false,
          expectsName: token === "{",
        });
        pieces.push(token);
        break;
      case "}":
      case "]":
        if (inside?.isNamed === true) path.pop();
        open.pop();
        pieces.push(token);
        break;
      case ",":
        if (inside?.isNamed === true) path.pop();
        if (inside !== undefined) {
          inside.isNamed = false;
          inside.expectsName = inside.isObject;
        }
        pieces.push(token);
        break;
      case '"':
        if (inside?.expectsName === true) {
          path.push(decodedText(token));
          inside.isNamed = true;
          inside.expectsName = false;
          pieces.push(replaceName(token));
        } else pieces.push(replace({ text: token, path, object: inside?.object ?? 0 }));
        break;
      default:
        pieces.push(/[\s:]/.test(token[0] ?? "") ? token : replace({ text: token, path, object: inside?.object ?? 0 }));
    }
  }
  return pieces.join("");
}

const same = (name: string): string => name;

const TOKEN = /[{}[\],]|"(?:[^"\\]|\\.)*"|[\s:]+|[^\s:{}[\],"]+/gs;

/** The value of a string token. */
export function decodedText(token: string): string {
  const value: unknown = JSON.parse(token);
  return typeof value === "string" ? value : token;
}
