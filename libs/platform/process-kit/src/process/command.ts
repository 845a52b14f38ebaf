/** The command line of a program: the same few commands for every program; the rest of the line are settings. */

export interface ProcessCommand {
  /** `--config-file`. */
  readonly file: string | undefined;
  readonly printConfig: boolean;
  /** Every other flag. */
  readonly flags: readonly string[];
}

/** Removes the words that are not settings; the settings check the rest. */
export function processCommand(args: readonly string[], environment: NodeJS.ProcessEnv): ProcessCommand {
  const flags: string[] = [];
  const command = { file: environment["PERDURE_CONFIG"], printConfig: false, flags };
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--print-config") command.printConfig = true;
    else if (arg === "--config-file") command.file = args[++i] ?? "";
    else if (arg.startsWith("--config-file=")) command.file = arg.slice("--config-file=".length);
    else flags.push(arg);
  }
  return command;
}

export function isHelp(arg: string): boolean {
  return arg === "--help" || arg === "-h" || arg === "help";
}

export function isVersion(arg: string): boolean {
  return arg === "--version" || arg === "-V";
}
