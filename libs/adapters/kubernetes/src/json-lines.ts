/** Splits the stream of a watch into its JSON objects, one a line; chunks may end anywhere. */
import { WATCH_LINE_CHARS_MAX } from "./limits.js";

/** The parsed lines, of any form. Throws when a line is not JSON or longer than any object may be; a line without an end is dropped, the connection broke in it. */
export async function* jsonLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of pieces) {
    const text = decoder.decode(piece, { stream: true });
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = rest + text.slice(start, end);
      rest = "";
      start = end + 1;
      if (line !== "") yield JSON.parse(line);
    }
    rest += text.slice(start);
    if (rest.length > WATCH_LINE_CHARS_MAX) throw new Error(`a line of a watch has more than ${WATCH_LINE_CHARS_MAX} characters`);
  }
}
