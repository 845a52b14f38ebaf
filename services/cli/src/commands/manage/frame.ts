/** Why: something that changes is drawn over itself, without flicker, and what was last seen stays when it ends. */
import { stripVTControlCharacters } from "node:util";

export interface FrameStream {
  write(text: string): unknown;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** Of terminals that do not know their size. */
const COLUMNS_DEFAULT = 100;
const ROWS_DEFAULT = 40;

export class TerminalFrame {
  readonly #stream: FrameStream;
  /** Rows of the terminal that the last frame took. */
  #rows = 0;
  #last = "";

  constructor(stream: FrameStream) {
    this.#stream = stream;
    this.#stream.write("\x1b[?25l"); // The cursor would jump about.
  }

  show(lines: readonly string[]): void {
    // Terminals that do not know their size say 0.
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

/** Lines above the terminal's upper edge cannot be drawn over: the first and the last stay. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  const max = Math.max(3, rows - 1);
  return lines.length <= max ? lines : [...lines.slice(0, 1), "…", ...lines.slice(lines.length - max + 2)];
}

/** So many characters that take a column, colours kept and ended: a line that wraps would be two, and the next frame would miss. */
export function cutTo(line: string, columns: number): string {
  if ([...stripVTControlCharacters(line)].length <= columns) return line;
  let [shown, out] = [0, ""];
  for (const piece of line.matchAll(/\x1b\[[0-9;]*m|[\s\S]/gu)) {
    if (piece[0].startsWith("\x1b")) out += piece[0];
    else if (++shown < columns) out += piece[0];
    else break;
  }
  return `${out}…\x1b[0m`;
}
