/** Keeps the newest lines of the engine's log, which explain a failed test; nothing is printed. */
import type { Logger } from "@perdure/base";
import { LOG_LINES_MAX } from "../limits.js";

export class EngineLog implements Logger {
  readonly lines: string[] = [];

  debug(): void {}
  info(): void {}

  warn(fields: object, message: string): void {
    this.#add("warn", fields, message);
  }

  error(fields: object, message: string): void {
    this.#add("error", fields, message);
  }

  child(): Logger {
    return this;
  }

  #add(level: string, fields: object, message: string): void {
    if (this.lines.length >= LOG_LINES_MAX) this.lines.shift();
    this.lines.push(`${level} ${message} ${JSON.stringify(fields, (_name, value: unknown) => shown(value))}`);
  }
}

function shown(value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message;
  return typeof value === "bigint" ? String(value) : value;
}
