/**
 * A machine may stand still for more than a minute: what a test only waits for, and does not judge, it waits for so many times longer than a
 * quiet machine takes. `deploy/testing/patient-environment.mjs` gives tests and hooks as much. A limit that is not reached costs nothing, so
 * it is the same everywhere.
 */
export const TIMEOUT_FACTOR = 4;
