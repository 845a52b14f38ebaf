/**
 * Output of a command, for users or programs. Results go to stdout, everything else to stderr, so that results can be piped; with `--json`
 * stdout holds JSON and nothing else.
 */
import { styleText } from "node:util";
import type { Clock } from "@perdure/base";
import { terminalJson, withoutControls } from "./controls.js";
import { type ProgressIndicator, silentProgress, startProgress } from "./progress.js";
import { cut, type OutputColumn, tableLines } from "./table.js";

export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  /** Characters per line of a terminal. */
  readonly columns?: number | undefined;
}

interface OutputOptions {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly isJson: boolean;
  readonly hasColour: boolean;
  readonly clock: Clock;
}

export type TextStyle = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "gray";

export class Output {
  readonly isJson: boolean;
  readonly hasColour: boolean;
  readonly #options: OutputOptions;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.isJson = options.isJson;
    this.hasColour = options.hasColour && !options.isJson;
  }

  /** Whether stderr is a terminal. */
  get isTerminal(): boolean {
    return this.#options.stderr.isTTY === true && !this.isJson;
  }

  /** Coloured when the output has colours. */
  paint(style: TextStyle, text: string): string {
    return this.hasColour ? styleText(style, text, { validateStream: false }) : text;
  }

  /** The result: as JSON with `--json`, else what `show` prints. Call it once. */
  result(value: unknown, show: () => void): void {
    if (this.isJson) this.json(value);
    else show();
  }

  /** One event of a stream: one line of JSON, or what `show` prints. */
  event(value: unknown, show: () => void): void {
    if (this.isJson) this.#options.stdout.write(`${terminalJson(value)}\n`);
    else show();
  }

  json(value: unknown): void {
    this.#options.stdout.write(`${terminalJson(value, 2)}\n`);
  }

  /** Prints a line of the result, without control sequences for a terminal. */
  print(line = ""): void {
    this.#options.stdout.write(`${withoutControls(line)}\n`);
  }

  /** A value of the result: a program receives it unchanged, a terminal as `print` shows it. */
  value(text: string): void {
    if (this.#options.stdout.isTTY === true) this.print(text);
    else this.#options.stdout.write(`${text}\n`);
  }

  /** Writes the text unchanged, without a line end. */
  raw(text: string): void {
    this.#options.stdout.write(text);
  }

  /**
   * Prints rows by column; `empty` is printed when there are none. On a terminal each row is one line: columns with `cutTo` are cut, then
   * the end of the line, unless `wraps`. Nothing is cut where the output is not a terminal.
   */
  table<Row>(columns: readonly OutputColumn<Row>[], rows: readonly Row[], empty: string, { wraps = false } = {}): void {
    if (rows.length === 0) return this.note(empty);
    const { isTTY, columns: width } = this.#options.stdout;
    const widthMax = isTTY === true && width !== undefined && width > 0 ? width : undefined;
    for (const line of tableLines(columns, rows, (title) => this.paint("dim", title), widthMax)) {
      this.print(widthMax === undefined || wraps ? line : cut(line, widthMax));
    }
  }

  /** Prints names and values, one below the other. */
  facts(facts: readonly (readonly [name: string, value: string | undefined])[]): void {
    const present = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
    const width = Math.max(0, ...present.map(([name]) => name.length));
    for (const [name, value] of present) this.print(`${this.paint("dim", name.padEnd(width))}  ${value}`);
  }

  /** A remark beside the result, on stderr; nothing with `--json`. */
  note(line: string): void {
    if (!this.isJson) this.#options.stderr.write(`${withoutControls(line)}\n`);
  }

  /** A warning on stderr, also with `--json`. */
  warn(line: string): void {
    this.#options.stderr.write(`${this.paint("yellow", "!")} ${withoutControls(line)}\n`);
  }

  /** Shows that an operation takes a while. */
  progress(text: string): ProgressIndicator {
    if (this.isJson) return silentProgress;
    return startProgress(text, {
      write: (line) => this.#options.stderr.write(line),
      isTerminal: this.isTerminal,
      clock: this.#options.clock,
      paint: (style, line) => this.paint(style, line),
    });
  }

  /** Runs `work` behind a progress line; the line shows `done` after success. */
  async during<T>(text: string, work: (progress: ProgressIndicator) => Promise<T>, done?: (value: T) => string): Promise<T> {
    const progress = this.progress(text);
    try {
      const value = await work(progress);
      if (done === undefined) progress.stop();
      else progress.done(done(value));
      return value;
    } catch (cause) {
      progress.stop();
      throw cause;
    }
  }
}
