/**
 * Limits on repeating failed suites. A CI machine may stall for a while and fail the suites that run then, so a failed suite is run once
 * more; one that passes then is a flake, a defect of the product or of the test that is reported and must be fixed.
 */

/** Suites that inject random faults are not repeated: a single failure is a finding. */
const BREAKS_BY_CHANCE = /chaos|simulat|crash|fuzz/;
/** Maximum number of failed suites that are repeated: more failures are not an accident. */
export const SECOND_LOOKS_MAX = 12;
/**
 * Maximum number of flakes in a run that passes. It becomes 2 once the repeated runs of `docs/contributing/tests.md` show stable suites.
 */
export const FLAKES_MAX = 6;

/** `name`: the path of a suite below the root. */
export const hasSecondLook = (name) => !BREAKS_BY_CHANCE.test(name);
