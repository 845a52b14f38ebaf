import type { Logger } from "@perdure/base";

/** A logger that appends the messages of all levels to the list. */
export function recorder(messages: string[]): Logger {
  const record = (_fields: object, message: string) => void messages.push(message);
  const logger: Logger = { debug: record, info: record, warn: record, error: record, child: () => logger };
  return logger;
}
