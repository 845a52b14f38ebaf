/** Prints a line for each step that really runs, which shows that completed steps run only once. */

/** One line per step, e.g. `ran "wrap the gift" for Ada`. */
export function ran(step: string, forWhom: string): void {
  console.log(`ran "${step}" for ${forWhom}`);
}

/** For slow steps, when they start. The one before is stored by then: the next step only starts once the server has confirmed it. */
export function began(step: string, forWhom: string): void {
  console.log(`began "${step}" for ${forWhom}`);
}
