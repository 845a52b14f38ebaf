/**
 * JSON as text, formatted for reading and compact for the store without going through JavaScript's numbers: a large integer or a second
 * member of the same name stays as it is. Pure.
 */
const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (cause) {
    if (cause instanceof SyntaxError) return false;
    throw cause;
  }
}

/** Formats a text that is JSON. */
export function wideJson(json: string): string {
  const tokens = json.match(TOKENS) ?? [];
  let text = "";
  let depth = 0;
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1];
    if (token === "{" || token === "[") {
      const isEmpty = next === "}" || next === "]";
      if (!isEmpty) depth++;
      text += isEmpty ? token : `${token}\n${"  ".repeat(depth)}`;
    } else if (token === "}" || token === "]") {
      const wasEmpty = tokens[at - 1] === "{" || tokens[at - 1] === "[";
      if (!wasEmpty) depth--;
      text += wasEmpty ? token : `\n${"  ".repeat(depth)}${token}`;
    } else if (token === ",") text += `,\n${"  ".repeat(depth)}`;
    else text += token === ":" ? ": " : token;
  }
  return text;
}

/** Compacts a text that is JSON: removes the spaces between its parts. */
export function narrowJson(json: string): string {
  return (json.match(TOKENS) ?? []).join("");
}
