/** Output of the demos that is readable in a terminal, in a log file and without colours. */
import { styleText } from "node:util";

type TextStyle = Parameters<typeof styleText>[0];

const isTerminal = process.stdout.isTTY === true;
const noColor = process.env["NO_COLOR"];
const colored = isTerminal && (noColor === undefined || noColor === "");
const STILL_WAITING_MS = 5000;

export function paint(style: TextStyle, text: string): string {
  return colored ? styleText(style, text, { validateStream: false }) : text;
}

export function line(text = ""): void {
  process.stdout.write(`${text}\n`);
}

export function heading(text: string): void {
  line();
  line(paint("bold", text));
}

/** An indented line with a mark: something happened. */
export function fact(text: string, mark = "✓"): void {
  line(`  ${paint(mark === "✓" ? "green" : "yellow", mark)} ${text}`);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Prints what is waited for, then the result and the duration. During a long wait it prints a line every few seconds. */
export async function waitFor<T>(what: string, done: (value: T) => string, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  if (isTerminal) process.stdout.write(`  ${paint("gray", `… ${what}`)}`);
  const clear = (): void => void (isTerminal && process.stdout.write("\r\u001b[2K"));
  const reminder = setInterval(() => {
    const so = `  ${paint("gray", `… ${what} (${seconds(performance.now() - startedAt)})`)}`;
    clear();
    process.stdout.write(isTerminal ? so : `${so}\n`);
  }, STILL_WAITING_MS);
  try {
    const value = await work;
    clear();
    fact(`${done(value)} ${paint("gray", `(${seconds(performance.now() - startedAt)})`)}`);
    return value;
  } catch (cause) {
    clear();
    throw cause;
  } finally {
    clearInterval(reminder);
  }
}
