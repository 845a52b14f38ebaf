/** Which log lines are written: one level for everything, and other levels for named components (`info,invoker=debug`). */
import { PerdureError } from "@perdure/base";

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
type LogLevel = (typeof LEVELS)[number];

export interface LogFilter {
  readonly everything: LogLevel;
  readonly byComponent: ReadonlyMap<string, LogLevel>;
}

/** Throws RT0002 when the text is not a filter. `off` is another word for `silent`, `trace` for `debug`. */
export function parseLogFilter(text: string): LogFilter {
  let everything: LogLevel = "info";
  const byComponent = new Map<string, LogLevel>();
  for (const part of text.split(",")) {
    const directive = part.trim();
    if (directive === "") continue;
    const equals = directive.indexOf("=");
    if (equals < 0) everything = levelOf(directive, text);
    else byComponent.set(directive.slice(0, equals).trim(), levelOf(directive.slice(equals + 1).trim(), text));
  }
  return { everything, byComponent };
}

function levelOf(name: string, text: string): LogLevel {
  const lower = name.toLowerCase();
  const level = lower === "off" ? "silent" : lower === "trace" ? "debug" : lower;
  const match = LEVELS.find((candidate) => candidate === level);
  if (match !== undefined) return match;
  throw new PerdureError("RT0002", `'log-filter' cannot be '${text}': '${name}' is not one of debug, info, warn, error, off`);
}

export function levelFor(filter: LogFilter, component: string | undefined): LogLevel {
  return (component === undefined ? undefined : filter.byComponent.get(component)) ?? filter.everything;
}
