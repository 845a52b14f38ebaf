/**
 * Decides the format of log lines and where they go: JSON lines for machines, aligned and coloured ones at a terminal. Code everywhere uses
 * base's `Logger`. Values that must never appear in a log are masked here, by field name.
 */
import { types } from "node:util";
import type { Logger } from "@perdure/base";
import { type DestinationStream, type Logger as PinoLogger, pino } from "pino";
import { type LogFilter, levelFor, parseLogFilter } from "./log-filter.js";
import { prettyLine } from "./log-pretty.js";
import { MASKED_FIELDS } from "./masked-fields.js";

export interface LoggingOptions {
  /** `info`, or with exceptions by component: `info,invoker=debug`. */
  readonly filter: string;
  readonly format: "pretty" | "json";
  readonly colors: boolean;
  /** The role's name: field `service` of each JSON line. */
  readonly service: string;
  /** Name of the environment that this process belongs to: field `env` of each JSON line. */
  readonly environment?: string | undefined;
  /** Called for each line; returns the trace ids of the current work. */
  readonly traceIds?: (() => object | undefined) | undefined;
  /** Where lines go, each with its newline. */
  readonly sink: (line: string) => void;
}

export interface Logging {
  readonly logger: Logger;
  /** Changes levels while running; also of loggers made before. Throws RT0002 when the text is not a filter. */
  setFilter(text: string): void;
}

/** Throws RT0002 when the filter cannot be read. */
export function createLogging(options: LoggingOptions): Logging {
  const current = { filter: parseLogFilter(options.filter) };
  const loggers = new Set<WeakRef<ComponentLogger>>();
  const root = new ComponentLogger(pino(pinoOptions(options), destination(options)), undefined, current, loggers);
  return {
    logger: root,
    setFilter(text) {
      current.filter = parseLogFilter(text);
      for (const reference of loggers) {
        const logger = reference.deref();
        if (logger === undefined) loggers.delete(reference);
        else logger.adopt(current.filter);
      }
    },
  };
}

function pinoOptions(options: LoggingOptions) {
  const { environment, traceIds } = options;
  return {
    base: { service: options.service, ...(environment === undefined ? {} : { env: environment }) },
    ...(traceIds === undefined ? {} : { mixin: () => traceIds() ?? {} }),
    messageKey: "msg",
    timestamp: () => `,"ts":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }), log: wholeDelays },
    redact: { paths: MASKED_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "***" },
    serializers: { error: describeError, cause: describeError },
  };
}

/** Delays have random fractions of a nanosecond, which are only noise in a log. */
const DELAYS = ["delayMs", "pauseMs", "retryMs"] as const;

function wholeDelays(fields: Record<string, unknown>): Record<string, unknown> {
  let whole = fields;
  for (const name of DELAYS) {
    const value = fields[name];
    if (typeof value === "number" && !Number.isInteger(value)) whole = { ...whole, [name]: Math.round(value) };
  }
  return whole;
}

function destination(options: LoggingOptions): DestinationStream {
  if (options.format === "json") return { write: options.sink };
  return { write: (line) => options.sink(prettyLine(line, options.colors)) };
}

/** An error as fields, with the chain of causes; anything else as it is. */
function describeError(value: unknown): unknown {
  if (!types.isNativeError(value)) return value;
  const { name, message, stack, cause } = value;
  const code = "code" in value ? value.code : undefined;
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

/** Base's logger over pino's. The field `component` of a child names the part of the program, and chooses its level. */
class ComponentLogger implements Logger {
  readonly #pino: PinoLogger;
  readonly #component: string | undefined;
  readonly #current: { filter: LogFilter };
  readonly #all: Set<WeakRef<ComponentLogger>>;

  constructor(to: PinoLogger, component: string | undefined, current: { filter: LogFilter }, all: Set<WeakRef<ComponentLogger>>) {
    this.#pino = to;
    this.#component = component;
    this.#current = current;
    this.#all = all;
    this.adopt(current.filter);
    all.add(new WeakRef(this));
  }

  adopt(filter: LogFilter): void {
    this.#pino.level = levelFor(filter, this.#component);
  }

  debug(fields: object, message: string): void {
    this.#pino.debug(fields, message);
  }

  info(fields: object, message: string): void {
    this.#pino.info(fields, message);
  }

  warn(fields: object, message: string): void {
    this.#pino.warn(fields, message);
  }

  error(fields: object, message: string): void {
    this.#pino.error(fields, message);
  }

  child(fields: object): Logger {
    const component = "component" in fields ? fields.component : undefined;
    const own = typeof component === "string" ? component : this.#component;
    return new ComponentLogger(this.#pino.child(fields), own, this.#current, this.#all);
  }
}
