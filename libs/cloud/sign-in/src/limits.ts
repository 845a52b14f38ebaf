/** Bounds of the pages of sign-in, with their reasons. */

/** Dangerous actions need a new confirmation when this much time has passed since the last one. */
export const CONFIRMED_MS = 15 * 60_000;
/** Number of times that one user code may be shown, right or wrong (cloud.md §1.7). */
export const DEVICE_CODE_ATTEMPTS_MAX = 50;
/** Time for which a browser counts as one in which a user has signed in; it grants no access. */
export const DEVICE_COOKIE_MS = 180 * 86_400_000;
/** Time for which links in mail work: confirming an address is not urgent, a password is changed now. */
export const VERIFY_LINK_MS = 86_400_000;
export const RESET_LINK_MS = 30 * 60_000;
