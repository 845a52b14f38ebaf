/**
 * Runs the command-line tools of the demo as a user would, with a home directory of its own, so that real profiles and logins of the user
 * are not touched.
 */
import { line, paint } from "@perdure/example-greeter/demo/terminal";
import { ChildProgram, runCommand } from "@perdure/processes";

interface CommandLineOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

interface ShownOptions {
  readonly matters?: RegExp;
  readonly onLine?: (text: string) => void;
}

export class CommandLine {
  readonly #options: CommandLineOptions;

  constructor(options: CommandLineOptions) {
    this.#options = options;
  }

  /** Shows the command and what it prints, as far as it `matters`; resolves with all of it. Rejects when it fails. */
  async run(
    shown: string,
    command: string,
    args: readonly string[],
    { matters = /\S/, onLine }: ShownOptions = {},
  ): Promise<string> {
    line(`  ${paint("cyan", `$ ${shown} ${args.map(quoted).join(" ")}`)}`);
    const program = await this.#start(command, args, (text) => {
      if (matters.test(text)) line(paint("gray", `    ${text.trimEnd()}`));
      onLine?.(text);
    });
    const { code } = await program.exited;
    if (code !== 0) throw new Error(`${shown} ${args.join(" ")} ended with ${code}`);
    return program.lines.join("\n");
  }

  /** Runs a command without printing it and parses its JSON output. */
  async readJson(command: string, args: readonly string[]): Promise<unknown> {
    const { exitCode, stdout, stderr } = await runCommand(command, args, this.#options);
    if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}: ${stderr}${stdout}`);
    return JSON.parse(stdout);
  }

  /** Resolves when a line contains `ready`; the process continues in the background. */
  async background(shown: string, command: string, args: readonly string[], ready: RegExp): Promise<ChildProgram> {
    line(`  ${paint("cyan", `$ ${shown} ${args.map(quoted).join(" ")} &`)}`);
    const program = await this.#start(command, args, (text) => {
      if (text.trim() !== "") line(paint("gray", `    ${text}`));
    });
    await program.ready(() => program.lines.some((text) => ready.test(text)));
    return program;
  }

  #start(command: string, args: readonly string[], onLine: (text: string) => void): Promise<ChildProgram> {
    return ChildProgram.start({ ...this.#options, command, args, onLine });
  }
}

const quoted = (arg: string): string => (/^[\w./:=@,-]+$/.test(arg) ? arg : `'${arg}'`);
