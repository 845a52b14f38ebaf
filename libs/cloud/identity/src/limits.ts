/** Bounds of identity, with their reasons. */

/**
 * Passwords: Argon2id as OWASP recommends for servers: 19 MiB and two passes make a guess expensive; a sign-in takes some tens of
 * milliseconds.
 */
export const PASSWORD_MEMORY_KIB = 19_456;
export const PASSWORD_PASSES = 2;
/** Hashed at the same time, each in its own thread: Node has four. */
export const PASSWORDS_AT_ONCE = 4;
/** Waiting for a thread: some seconds of work; further requests are refused with 429. */
export const PASSWORDS_WAITING_MAX = 64;
/** NIST requires fifteen for single-factor sign-in, eight otherwise; the rate of guesses is low here. */
export const PASSWORD_CHARS_MIN = 12;
/** Long enough for every phrase, and cheap to hash. */
export const PASSWORD_CHARS_MAX = 256;
/** A browser stays signed in for this long. */
export const BROWSER_SESSION_MS = 7 * 86_400_000;
/** A device stays logged in for this long, while it requests new tokens. */
export const DEVICE_SESSION_MS = 90 * 86_400_000;
/** Concurrent sessions of one kind per user; the oldest ends first. */
export const SESSIONS_PER_USER_MAX = 50;
/** A form of a page is some hundred bytes. */
export const FORM_BYTES_MAX = 16 * 1024;
/** Length of the path to return to after sign-in: a page of the console with its filters. */
export const RETURN_CHARS_MAX = 2_000;
/** Length of the name that a device gives itself. */
export const DEVICE_NAME_CHARS_MAX = 64;
/** Lifetime of a device code (cloud.md §1.7). */
export const DEVICE_CODE_MS = 600_000;
export const DEVICE_POLL_MS = 5_000;
/** A collision of two codes is rarer than one in a billion; five in a row are a bug. */
export const USER_CODE_TRIES_MAX = 5;
/** An unfinished sign-in at another provider. */
export const OIDC_FLOW_MS = 600_000;
/** The other provider must answer within this time: the user sees an empty page meanwhile. */
export const OIDC_TIMEOUT_SECONDS = 5;
/**
 * Greatest age of the provider's authentication that is accepted; a request with a bound makes the provider return that age (OIDC core §2).
 */
export const OIDC_SHOWN_SECONDS_MAX = 365 * 86_400;
/** Accepted clock skew of the provider. */
export const OIDC_SKEW_SECONDS = 60;
/** Bound of one answer of the provider: keys and tokens are some kilobytes. */
export const OIDC_ANSWER_BYTES_MAX = 512 * 1024;
/** Audit records about one sign-in: one for each account of the user, up to this. */
export const LOGIN_AUDIT_ACCOUNTS_MAX = 10;
/** Subjects that are cached as blocked until some time, which saves a query; the oldest entry is evicted first. */
export const BLOCKED_CACHED_MAX = 10_000;
/** Attempts per window, per address or account. */
export const RATES = {
  /** Users share addresses; a program that guesses has thousands of passwords to try. */
  "sign-in by address": { max: 60, windowMs: 600_000 },
  /** Rate that allows more wrong passwords than an owner needs; from another address the account can still be signed in to. */
  "sign-in to account by address": { max: 10, windowMs: 900_000 },
  /** Rate for all networks together, which bounds a distributed attack. */
  "sign-in to account": { max: 100, windowMs: 900_000 },
  /** Rate for a browser in which the owner has signed in before: attempts from other browsers do not count for it. */
  "sign-in by known browser": { max: 10, windowMs: 900_000 },
  /** A stolen session must not be used to guess the password. */
  "confirmation of session": { max: 10, windowMs: 900_000 },
  "sign-up by address": { max: 20, windowMs: 3_600_000 },
  "device code by address": { max: 30, windowMs: 600_000 },
  /** cloud.md §1.7. */
  "user code by address": { max: 10, windowMs: 60_000 },
  /** Rate that equals the number of times that a code may be shown during its lifetime. */
  "user code by user": { max: 50, windowMs: 600_000 },
  /** 226 bits cannot be guessed; this bounds the cost of a loop. */
  "token by address": { max: 600, windowMs: 60_000 },
  /** A device needs one in twelve hours; each leaves a row until the session is over. */
  "refresh of session": { max: 30, windowMs: 3_600_000 },
  "other provider by address": { max: 60, windowMs: 600_000 },
  /** Each may send a mail to a person who did not request it. */
  "mail by address": { max: 10, windowMs: 3_600_000 },
  "mail to account": { max: 3, windowMs: 3_600_000 },
  /** A link has 256 bits; this bounds the cost of a loop. */
  "link by address": { max: 30, windowMs: 600_000 },
  "invitation by address": { max: 30, windowMs: 600_000 },
  /** Each is a mail in the platform's name, with a name that the account chose. */
  "invitation of account": { max: 100, windowMs: 86_400_000 },
  "invitation to recipient": { max: 10, windowMs: 86_400_000 },
  "invitation of account to recipient": { max: 3, windowMs: 3_600_000 },
} as const;
