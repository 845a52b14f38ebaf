/** The command that starts a service, and which changes of files it does not notice by itself. */

export interface StartCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The file and entry that determined the command, as text for the user. */
  readonly because: string;
  /** Whether the file states the command; otherwise it is only the usual one, and is shown as advice instead of run. */
  readonly isCertain: boolean;
  /** Extensions of source files that require a restart after a change (`.py`); empty when the command reloads by itself, or may. */
  readonly restartsOn: readonly string[];
}

export function startCommand(
  command: string,
  args: readonly string[],
  because: string,
  isCertain: boolean,
  restartsOn: readonly string[],
): StartCommand {
  return { command, args, because, isCertain, restartsOn };
}

/** Whether a path, relative to the folder of the project, exists. */
export type Has = (path: string) => boolean;
/** Text of a file of the project. */
export type ReadFile = (path: string) => string;
