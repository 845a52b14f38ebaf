/** Why: keys and tokens travel next to things that are logged; wrapped in this they print as `***` wherever they end up. */
import { inspect } from "node:util";

const MASKED = "***";

/** A text that only `reveal()` shows. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself; call it at the last moment, where it is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASKED;
  }

  toJSON(): string {
    return MASKED;
  }

  [inspect.custom](): string {
    return MASKED;
  }
}
