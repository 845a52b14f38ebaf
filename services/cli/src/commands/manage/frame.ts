/** Redraws changing lines in place, without flicker; the last frame stays at the end. */
import { stripVTControlCharacters } from "node:util";

interface FrameStream {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** Size of terminals that do not report one. */
const COLUMNS_DEFAULT = 100;
const ROWS_DEFAULT = 40;

export class TerminalFrame {
  readonly #stream: FrameStream;
  /** Rows of the terminal that the last frame took. */
  #rows = 0;
  #last = "";

  constructor(stream: FrameStream) {
    this.#stream = stream;
    this.#stream.write("\x1b[?25l"); // Hide the cursor, which would jump about.
  }

  show(lines: readonly string[]): void {
    // The size is 0 when the terminal does not report it.
    const columns = this.#stream.columns || COLUMNS_DEFAULT;
    const cut = fitting(lines, this.#stream.rows || ROWS_DEFAULT).map((line) => cutTo(line, columns));
    const text = cut.join("\n");
    if (text === this.#last) return;
    const up = this.#rows > 0 ? `\x1b[${this.#rows}A` : "";
    this.#stream.write(`${up}\r${cut.map((line) => `\x1b[2K${line}`).join("\n")}\n\x1b[J`);
    this.#rows = cut.length;
    this.#last = text;
  }

  end(): void {
    this.#stream.write("\x1b[?25h");
  }
}

/** Lines above the terminal's upper edge cannot be overwritten, so the first and the last ones are kept. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  const max = Math.max(3, rows - 1);
  return lines.length <= max ? lines : [...lines.slice(0, 1), "…", ...lines.slice(lines.length - max + 2)];
}

/** The line cut to so many columns, colours kept and ended: a wrapped line would take two rows, and the next frame would be misplaced. */
function cutTo(line: string, columns: number): string {
  if ([...stripVTControlCharacters(line)].length <= columns) return line;
  let [shown, out] = [0, ""];
  for (const piece of line.matchAll(/\x1b\[[0-9;]*m|[\s\S]/gu)) {
    if (piece[0].startsWith("\x1b")) out += piece[0];
    else if (++shown < columns) out += piece[0];
    else break;
  }
  return `${out}…\x1b[0m`;
}
