/**
 * A logger that limits repeated lines: one bad endpoint fails thousands of attempts a minute, and a line for each hides every other line
 * and fills the disk. The first lines of a kind in a period are logged in full; the rest are counted, and one line at the end of the period
 * reports their number.
 */
import type { Clock, TimerHandle } from "./clock.js";
import { SUMMARY_KINDS_MAX, SUMMARY_LINES_IN_FULL, SUMMARY_LINES_MAX, SUMMARY_PERIOD_MS } from "./limits.js";
import type { Logger } from "./logger.js";

/** Properties that lines counted together share; their values come from code and the registry, so there are few. */
interface LineKind {
  readonly service: string;
  readonly code: string;
}

interface CountedLine extends LineKind {
  readonly message: string;
  count: number;
  /** Fields of the last line that was only counted. */
  last: object | undefined;
}

/** The kind under which lines beyond the first `SUMMARY_KINDS_MAX` kinds are counted. */
const OTHER = "other";

export class SummaryLog implements Disposable {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, CountedLine>();
  #beganMs = Number.NEGATIVE_INFINITY;
  /** Set while lines are counted and their summary is due. */
  #timer: TimerHandle | undefined;

  /** @param logger of the summaries */
  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Logs the line with `logger`, or counts it. `message` is constant. */
  warn(logger: Logger, kind: LineKind, fields: object, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#timer === undefined && nowMs - this.#beganMs >= SUMMARY_PERIOD_MS) this.#begin(nowMs);
    const counted = this.#counted(kind, message);
    if (++counted.count <= SUMMARY_LINES_IN_FULL) return logger.warn({ service: kind.service, ...fields }, message);
    counted.last = fields;
    this.#timer ??= this.#clock.setTimer(Math.max(0, this.#beganMs + SUMMARY_PERIOD_MS - nowMs), () => this.#end());
  }

  /** Logs the summary of the lines counted so far. */
  [Symbol.dispose](): void {
    this.#timer?.cancel();
    if (this.#timer !== undefined) this.#end();
  }

  #begin(nowMs: number): void {
    this.#kinds.clear();
    this.#beganMs = nowMs;
  }

  #counted({ service, code }: LineKind, message: string): CountedLine {
    const name = `${service}\0${code}\0${message}`;
    const existing = this.#kinds.get(name);
    if (existing !== undefined) return existing;
    const isOther = this.#kinds.size >= SUMMARY_KINDS_MAX;
    const key = isOther ? OTHER : name;
    let counted = this.#kinds.get(key);
    if (counted === undefined) {
      counted = isOther
        ? { service: OTHER, code: OTHER, message: "more lines of other kinds", count: 0, last: undefined }
        : { service, code, message, count: 0, last: undefined };
      this.#kinds.set(key, counted);
    }
    return counted;
  }

  #end(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    const suppressed = [...this.#kinds.values()].filter(({ last }) => last !== undefined).sort((a, b) => b.count - a.count);
    const seconds = Math.round((nowMs - this.#beganMs) / 1000);
    for (const { service, code, message, count, last } of suppressed.slice(0, SUMMARY_LINES_MAX)) {
      const fields = { service, code, count, countOnly: count - SUMMARY_LINES_IN_FULL, seconds, summaryOf: message, last };
      this.#logger.warn(fields, "many lines of one kind");
    }
    const rest = suppressed.slice(SUMMARY_LINES_MAX);
    if (rest.length > 0) {
      const count = rest.reduce((sum, each) => sum + each.count, 0);
      this.#logger.warn({ kinds: rest.length, count, seconds }, "many lines of many kinds");
    }
    this.#begin(nowMs);
  }
}
