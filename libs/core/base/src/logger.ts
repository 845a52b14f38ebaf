/** The logger interface: code logs facts with fields, and only the process kit decides where lines go. */

/** `fields` are data for machines, `message` is a short constant text. Payloads, keys and secrets stay out of both. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to each line. */
  child(fields: object): Logger;
}

/** Drops every line: for tests, and for libraries used without a role. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
