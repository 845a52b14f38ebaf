/**
 * A machine may stand still for more than a minute. A test waits so many times longer than a quiet machine takes for conditions whose
 * duration it does not check. `deploy/testing/patient-environment.mjs` gives tests and hooks as much. A limit that is not reached costs
 * nothing, so it is the same everywhere.
 */
export const TIMEOUT_FACTOR = 4;
