/** The folder `OUTSIDE` of endpoints: what their handlers read outside of the journal. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A decimal comma, which none of the handlers expects. */
const PRICE = "12,50";

export class OutsideWorld {
  readonly #folder: string;

  constructor(parent: string) {
    this.#folder = join(parent, "outside");
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, "price"), PRICE);
  }

  get environment(): Readonly<Record<string, string>> {
    return { MODE: "bidi", OUTSIDE: this.#folder };
  }

  raiseFlag(): void {
    writeFileSync(join(this.#folder, "flag"), "");
  }

  removePrice(): void {
    rmSync(join(this.#folder, "price"));
  }
}
