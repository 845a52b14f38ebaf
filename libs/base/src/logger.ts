/** Why: everything logs facts with fields, and only `role` knows where they go; the rest of the code sees this interface. */

/** Fields are data for machines, `message` a short sentence for people. Payloads, keys and secrets stay out of both. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to each line. */
  child(fields: object): Logger;
}

/** Drops everything: for tests, and for libraries used without a role. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
