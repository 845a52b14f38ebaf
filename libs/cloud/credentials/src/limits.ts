/** Bounds of keys and tokens, with their reasons. */

/** Interval of attempts to seal data again that older keys sealed: it is not urgent. */
export const RENEWAL_AGAIN_MS = 60_000;
/** Lifetime of access tokens (cloud.md §1.2): the official command line cannot renew them, so users log in this often. */
export const ACCESS_TOKEN_SECONDS = 12 * 3_600;
/** A key is published this long before it signs, and this long after its last token expired. */
export const TOKEN_KEY_SHOWN_MS = 86_400_000;
/** A key signs for this long before the next one does. */
export const TOKEN_KEY_SIGNS_MS = 30 * 86_400_000;
/** Interval at which each process reads the keys again, and checks whether a new one is due. */
export const TOKEN_KEYS_READ_MS = 60_000;
/** A token with an unknown key id makes the process read the keys, but not more often than this: any client can send one. */
export const TOKEN_KEYS_RELOAD_MS = 1_000;
