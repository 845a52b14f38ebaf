/** An example that its own pattern refuses helps no user. Writes the shortest text that simple patterns allow. Pure. */

/** Patterns and repetitions beyond these are not tried: the text is an example, not a proof. */
const PATTERN_CHARS_MAX = 200;
const REPEATED_MAX = 100;

/** Undefined for a pattern that is not supported; a result always matches. */
export function textOfPattern(pattern: string): string | undefined {
  if (pattern.length > PATTERN_CHARS_MAX) return undefined;
  try {
    const [text, end] = alternatives(pattern, 0);
    return end === pattern.length && new RegExp(pattern, "u").test(text) ? text : undefined;
  } catch {
    // The pattern is not supported, or is invalid.
    return undefined;
  }
}

type Read = readonly [text: string, end: number];

/** `a|b`: the first; the others are parsed to find their end. */
function alternatives(pattern: string, from: number): Read {
  const first = sequence(pattern, from);
  let end = first[1];
  while (pattern[end] === "|") end = sequence(pattern, end + 1)[1];
  return [first[0], end];
}

function sequence(pattern: string, from: number): Read {
  let text = "";
  let at = from;
  while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") {
    if (pattern[at] === "^" || pattern[at] === "$") {
      at++;
      continue;
    }
    const [one, end] = atom(pattern, at);
    const [count, next] = repetition(pattern, end);
    text += one.repeat(count);
    at = next;
  }
  return [text, at];
}

function atom(pattern: string, at: number): Read {
  const char = pattern[at] ?? "";
  if (char === "(") {
    const from = /^\((?:\?:|\?<\w+>)?/.exec(pattern.slice(at))?.[0] ?? "(";
    if (pattern[at + 1] === "?" && from === "(") throw new RangeError("a look-around");
    const [text, end] = alternatives(pattern, at + from.length);
    return [text, end + 1];
  }
  if (char === "[") {
    const whole = /^\[(?:[^\]\\]|\\.)+\]/.exec(pattern.slice(at))?.[0];
    if (whole === undefined) throw new RangeError("a class without an end");
    return [oneOf(whole), at + whole.length];
  }
  if (char === "\\") return [oneOf(pattern.slice(at, at + 2)), at + 2];
  return [char === "." ? "a" : char, at + 1];
}

/** Letters of the alphabet and digits, before signs. */
const CANDIDATES = [..."aA1bB2cC3 -_.:/@+,;!?#*=&%$'\"()[]{}<>~^|`\\"];

function oneOf(characters: string): string {
  const expression = new RegExp(`^${characters}$`, "u");
  const range = /^\[(\p{L}|\d)/u.exec(characters)?.[1];
  const candidate = [...(range === undefined ? [] : [range]), ...CANDIDATES].find((each) => expression.test(each));
  if (candidate === undefined) throw new RangeError("no candidate");
  return candidate;
}

function repetition(pattern: string, at: number): readonly [count: number, end: number] {
  const [all, least] = /^(?:\{(\d+)(?:,\d*)?\}|[*+?])\??/.exec(pattern.slice(at)) ?? [];
  if (all === undefined) return [1, at];
  const count = least === undefined ? (all.startsWith("+") ? 1 : 0) : Number(least);
  if (count > REPEATED_MAX) throw new RangeError("too many");
  return [count, at + all.length];
}
