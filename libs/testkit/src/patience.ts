/**
 * A machine of CI may stand still for more than a minute: what a test only waits for, and does not judge, it waits for so many times longer
 * there. `deploy/patient-environment.mjs` gives tests and hooks as much.
 */
export const PATIENCE = process.env["CI"] === undefined ? 1 : 4;
