/** Why: keys and tokens travel next to things that are logged; wrapped in this they print as `***` wherever they end up. */

const MASKED = "***";
/** `inspect.custom` of `node:util`, which has this name so that code for browsers can do without that module. */
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

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

  [INSPECT](): string {
    return MASKED;
  }
}
