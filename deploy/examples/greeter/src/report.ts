/** Prints a line for each step that really runs, which shows that completed steps run only once. */

/** One line per step, e.g. `ran "wrap the gift" for Ada`. */
export function ran(step: string, forWhom: string): void {
  console.log(`ran "${step}" for ${forWhom}`);
}

/**
 * Reports that a slow step has started. The step before it is stored by then: a step starts only once the server has confirmed the last.
 */
export function began(step: string, forWhom: string): void {
  console.log(`began "${step}" for ${forWhom}`);
}
