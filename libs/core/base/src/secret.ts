/** A wrapper for keys and tokens that are passed next to values that are logged: it prints as `***` everywhere. */

const MASKED = "***";
/** The symbol of `inspect.custom` of `node:util`, written out so that code for browsers does not need that module. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** A text that only `reveal()` returns. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself; call it as late as possible, where the text is used. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASKED;
  }

  toJSON(): string {
    return MASKED;
  }

  [INSPECT](): string {
    return MASKED;
  }
}
