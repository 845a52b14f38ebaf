/** Errors of commands: a sentence on what went wrong and one on what to do for users, an exit code for scripts. */

/** 3 and 4 are outcomes of replays. */
export type ExitCode = 0 | 1 | 2 | 3 | 4;
export const OK: ExitCode = 0;
/** The command was understood and failed. */
export const FAILED: ExitCode = 1;
/** Wrong usage: unknown flags, missing arguments, unknown names. */
export const USAGE: ExitCode = 2;

/** The error of a command: one sentence about what happened, one about what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  /** Next step for the user; commands in it are shown as the user types them. */
  readonly advice: string | undefined;
  /** Code of the server that refused: `PERD0403`, `META0003` … */
  readonly code: string | undefined;
  /** Id by which operators find the request in the server's logs. */
  readonly requestId: string | undefined;
  /** Further values that `--json` shows: ids and numbers that scripts branch on. */
  readonly facts: Readonly<Record<string, string | number | null>>;

  constructor(
    exitCode: ExitCode,
    message: string,
    advice?: string,
    options: {
      cause?: unknown;
      code?: string | undefined;
      requestId?: string | undefined;
      facts?: Readonly<Record<string, string | number | null>>;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.exitCode = exitCode;
    this.advice = advice;
    this.code = options.code;
    this.requestId = options.requestId;
    this.facts = options.facts ?? {};
  }
}

/** Ends the command by throwing a `CliError`. */
export function fail(exitCode: ExitCode, message: string, advice?: string, cause?: unknown): never {
  throw new CliError(exitCode, message, advice, { cause });
}
