/**
 * Prompts on a terminal; without one, the command ends with the flag that answers the prompt. The library is loaded with the first prompt:
 * most commands have none.
 */
import { stderr } from "node:process";
import { present } from "@perdure/base";
import { FAILED, fail, USAGE } from "./errors.js";

interface PromptsOptions {
  /** Whether there is a terminal. */
  readonly isInteractive: boolean;
  readonly signal: AbortSignal;
}

interface PromptChoice<T> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

export class Prompts {
  readonly isInteractive: boolean;
  readonly #common: { readonly output: NodeJS.WriteStream; readonly signal: AbortSignal };

  constructor({ isInteractive, signal }: PromptsOptions) {
    this.isInteractive = isInteractive;
    this.#common = { output: stderr, signal };
  }

  /** `instead`: what to type where there is no terminal. */
  async confirm(message: string, instead: string): Promise<boolean> {
    this.#requireTerminal(message, instead);
    const { confirm, isCancel } = await import("@clack/prompts");
    const answer = await confirm({ ...this.#common, message, initialValue: false });
    return isCancel(answer) ? cancelled() : answer;
  }

  async text(message: string, instead: string, initial?: string): Promise<string> {
    this.#requireTerminal(message, instead);
    const options = initial === undefined ? {} : { initialValue: initial };
    const { isCancel, text } = await import("@clack/prompts");
    const answer = await text({ ...this.#common, ...options, message });
    return isCancel(answer) ? cancelled() : answer.trim();
  }

  async choose<T extends string>(message: string, choices: readonly PromptChoice<T>[], instead: string): Promise<T> {
    this.#requireTerminal(message, instead);
    // The library's type of options depends on T in a way that only a concrete type satisfies.
    const options: PromptChoice<string>[] = choices.map((choice) => ({ ...choice }));
    const { isCancel, select } = await import("@clack/prompts");
    const answer = await select<string>({ ...this.#common, message, options });
    return isCancel(answer) ? cancelled() : present(choices.find(({ value }) => value === answer)).value;
  }

  #requireTerminal(message: string, instead: string): void {
    if (!this.isInteractive) fail(USAGE, `There is no terminal to prompt in: ${message}`, adviceOf(instead));
  }
}

const adviceOf = (instead: string): string => (instead.startsWith("--") ? `Use ${instead}` : instead);

function cancelled(): never {
  return fail(FAILED, "Nothing was done");
}
