/**
 * Runs the commands of a page as they are written there, with Bash: a command that the page does not have, and one that was left out, fail
 * the test.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "@perdure/dev-cluster";
import { RunningCommand } from "@perdure/processes";

interface TutorialPageOptions {
  /** The reader's folder. */
  readonly cwd: string;
  /** Ports of the test by those of the page. */
  readonly ports: Readonly<Record<string, number>>;
  readonly env: Readonly<Record<string, string>>;
}

interface CommandOfPage {
  /** What the reader must put in the place of a word. */
  readonly replace?: Readonly<Record<string, string>>;
  /** Arguments that stand for keys at a terminal, such as `--yes`. */
  readonly append?: string;
}

/** Longest time of one command: handlers wait for a reminder of five seconds, and the machine may be busy. */
const COMMAND_MS_MAX = 120_000;

export class TutorialPage implements AsyncDisposable {
  readonly #path: string;
  readonly #options: TutorialPageOptions;
  readonly #unplayed: Set<string>;
  readonly #running: RunningCommand[] = [];
  #exported: Readonly<Record<string, string>> = {};

  /** `path`: below the root. */
  constructor(path: string, options: TutorialPageOptions) {
    this.#path = path;
    this.#options = options;
    const blocks = [...readFileSync(join(ROOT, path), "utf8").matchAll(/^```sh\n([\s\S]*?)^```$/gm)];
    this.#unplayed = new Set(blocks.flatMap(([, text = ""]) => text.trimEnd().split("\n")));
  }

  /** Commands that were not played yet. */
  get unplayed(): readonly string[] {
    return [...this.#unplayed];
  }

  /** Sets the variable of an `export` for the commands that follow. */
  export(command: string): void {
    const [, name = "", value = ""] = /^export (\w+)=(\S+)$/.exec(this.#played(command, {})) ?? [];
    assert.ok(name, `${command} is not an export`);
    this.#exported = { ...this.#exported, [name]: value };
  }

  /** Resolves with what the command printed to stdout. Rejects when it fails. */
  async run(command: string, options: CommandOfPage = {}): Promise<string> {
    const { exitCode, stdout, stderr } = await this.start(command, options).ended;
    assert.equal(exitCode, 0, `${command}\n${stdout}${stderr}`);
    return stdout;
  }

  /** A command that the reader leaves running. */
  start(command: string, options: CommandOfPage = {}): RunningCommand {
    const text = this.#played(command, options);
    const path = `${ROOT}:${dirname(process.execPath)}:${process.env["PATH"]}`; // `perdure` is in the root.
    const env = { ...this.#options.env, ...this.#exported, PATH: path };
    // A failure of curl must be one of the command.
    const script = text.startsWith("curl ") ? text.replace("curl ", "curl --silent --show-error --fail-with-body ") : text;
    const { cwd } = this.#options;
    const running = new RunningCommand("bash", ["-c", script], { cwd, env, ownGroup: true, timeoutMs: COMMAND_MS_MAX });
    this.#running.push(running);
    return running;
  }

  #played(command: string, { replace = {}, append }: CommandOfPage): string {
    assert.ok(this.#unplayed.delete(command), `${this.#path} does not have, or not once more: ${command}`);
    let text = command;
    for (const [word, value] of Object.entries(replace)) {
      assert.ok(text.includes(word), `${command} does not contain ${word}`);
      text = text.replace(word, value);
    }
    for (const [port, own] of Object.entries(this.#options.ports))
      text = text.replaceAll(new RegExp(`\\b${port}\\b`, "g"), `${own}`);
    return append === undefined ? text : `${text} ${append}`;
  }

  /** Ends what the reader leaves running. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#running) running.signal("SIGTERM");
    await Promise.all(this.#running.map(({ ended }) => ended));
  }
}
