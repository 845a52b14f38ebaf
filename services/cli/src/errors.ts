/** Why: whoever types a command wants to know what went wrong and what to do now; scripts want a number. */

export type ExitCode = 0 | 1 | 2;
export const OK: ExitCode = 0;
/** It was understood and did not work. */
export const FAILED: ExitCode = 1;
/** It was not understood: unknown flags, missing arguments, names that nothing has. */
export const USAGE: ExitCode = 2;

/** What a command ends with when it does not work: one sentence about what happened, one about what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  /** What to do now; commands in it are shown as they are typed. */
  readonly advice: string | undefined;
  /** Code of whoever refused: `PERD0403`, `META0003` … */
  readonly code: string | undefined;
  /** By which those who run the server find the request in their logs. */
  readonly requestId: string | undefined;
  /** What `--json` shows beside them: ids and numbers that scripts branch on. */
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

/** Ends the command. */
export function fail(exitCode: ExitCode, message: string, advice?: string, cause?: unknown): never {
  throw new CliError(exitCode, message, advice, { cause });
}
