/** Why: whoever sent us a message waits to hear that it is durable here, or that it never will be: one of the two, once. */
import type { LetterOf } from "./letter.js";

export class OwedLetters {
  /** Neither durable nor refused. */
  readonly #letters = new Set<LetterOf<"owed">>();

  add(letter: LetterOf<"owed">): void {
    this.#letters.add(letter);
  }

  delivered(letter: LetterOf<"owed">): void {
    if (this.#letters.delete(letter)) letter.delivered();
  }

  /** The message stays with its sender, who brings it to whoever leads then. */
  refuse(letter: LetterOf<"owed">): void {
    if (this.#letters.delete(letter)) letter.undelivered();
  }

  refuseAll(concerns: (letter: LetterOf<"owed">) => boolean): void {
    for (const letter of this.#letters) if (concerns(letter)) this.refuse(letter);
  }
}
