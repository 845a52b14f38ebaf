/**
 * Runs the command-line tools of the demo as a user would, with a home directory of its own, so that real profiles and logins of the user
 * are not touched.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { line, paint } from "@perdure/example-greeter/demo/terminal";

export interface CommandLineOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface CommandOptions {
  readonly matters?: RegExp;
  readonly onLine?: (text: string) => void;
}

/** One that keeps running. */
export interface RunningCommand {
  readonly pid: number | undefined;
  stop(): Promise<void>;
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
    { matters = /\S/, onLine }: CommandOptions = {},
  ): Promise<string> {
    line(`  ${paint("cyan", `$ ${shown} ${args.map(quoted).join(" ")}`)}`);
    const child = spawn(command, args, { ...this.#options, stdio: ["ignore", "pipe", "pipe"] });
    const lines: string[] = [];
    const outputs = [child.stdout, child.stderr].map(async (stream) => {
      for await (const text of createInterface({ input: stream })) {
        lines.push(text);
        if (matters.test(text)) line(paint("gray", `    ${text.trimEnd()}`));
        onLine?.(text);
      }
    });
    const code = await new Promise<number | null>((resolve, reject) => child.once("error", reject).once("exit", resolve));
    await Promise.all(outputs);
    if (code !== 0) throw new Error(`${shown} ${args.join(" ")} ended with ${code}`);
    return lines.join("\n");
  }

  /** Runs a command without printing it and parses its JSON output. */
  async readJson(command: string, args: readonly string[]): Promise<unknown> {
    const child = spawn(command, args, { ...this.#options, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    let problem = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (problem += text));
    const code = await new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${problem}${output}`);
    return JSON.parse(output);
  }

  /** Resolves when a line contains `ready`; the process continues in the background. */
  async background(shown: string, command: string, args: readonly string[], ready: RegExp): Promise<RunningCommand> {
    line(`  ${paint("cyan", `$ ${shown} ${args.map(quoted).join(" ")} &`)}`);
    const child = spawn(command, args, { ...this.#options, stdio: ["ignore", "pipe", "pipe"] });
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      const lines: string[] = [];
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`${shown} ${args.join(" ")} ended with ${code}:\n${lines.join("\n")}`)));
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on("line", (text) => {
          lines.push(text);
          if (text.trim() !== "") line(paint("gray", `    ${text}`));
          if (ready.test(text)) resolve();
        });
      }
    });
    return {
      pid: child.pid,
      stop: () => {
        child.kill("SIGTERM");
        return exited;
      },
    };
  }
}

const quoted = (arg: string): string => (/^[\w./:=@,-]+$/.test(arg) ? arg : `'${arg}'`);
