/** Bounds of tenancy, with their reasons. */

/** No operation of the Cloud API takes more than some texts. */
export const REQUEST_BODY_BYTES_MAX = 64 * 1024;
/** Bodies arrive in one piece; a slower one occupies a slot that other requests need (T22). */
export const REQUEST_BODY_MS = 10_000;
/** Requests that one process answers at one time; the database has far fewer connections, so more would only wait. */
export const REQUESTS_MAX = 256;
/** Of these, for one network: half, so that one network cannot use up all slots. */
export const REQUESTS_OF_NETWORK_MAX = 128;
/** How long browsers use only https for a name: a year, as HSTS preload lists require. */
export const HSTS_SECONDS = 31_536_000;
/** Running requests get this long when the process ends: less than the timeout of the official command line. */
export const DRAIN_MS = 10_000;
/** Records of the audit log in one answer, by default. */
export const AUDIT_PAGE_DEFAULT = 100;
/** Records read from the database at a time while the audit log is exported. */
export const AUDIT_EXPORT_PAGE = 500;
/** Records of one export: about 100 MB; request a shorter period to get the rest. */
export const AUDIT_EXPORT_LINES_MAX = 500_000;
/** Lines of `GetEnvironmentLogs`. */
export const LOG_LINES_MAX = 500;
/** Days of one `GetUsage`. */
export const USAGE_DAYS_MAX = 400;
/** Calls of one user to the Cloud API: a page sends some dozen when it opens, and scripts run calls one after the other. */
export const API_CALLS = { perSecond: 20, burst: 200 } as const;
/** Cost of operations that read much, in calls. */
export const DEAR_CALL_COST = 10;
/** Users with a rate counter; some hundred bytes each. */
export const CALLING_USERS_MAX = 100_000;
/** An invitation is valid for this long (cloud.md §4.6). */
export const INVITATION_MS = 7 * 86_400_000;
/** Open invitations of an account: enough for a big team, too few to send spam with. */
export const INVITATIONS_MAX = 50;
/** How long a destroyed environment can be restored (cloud.md §5.2). */
export const ERASE_AFTER_MS = 7 * 86_400_000;
/** Environments that exist, deleting ones included, for each that the plan allows: one may be replaced at once, but not repeatedly. */
export const KEPT_PER_PLANNED = 2;
/** Signing keys may be retired this long after they were replaced (cloud.md §3.5). */
export const RETIRE_AFTER_MS = 86_400_000;
/** `last used` is written at most this often (cloud.md §4.3). */
export const LAST_USED_EVERY_MS = 300_000;
/** The tunnels of a relay that does not report for this long are dropped. */
export const TUNNELS_EXPIRY_MS = 30_000;
/** A gateway that does not report for this long loses its share of rates; it reports every second. */
export const GATEWAY_EXPIRY_MS = 5_000;

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

/** Attempts to create a runtime before its environment has failed (cloud.md §5.2). */
export const PROVISION_TRIES_MAX = 3;
/** A runtime that does not answer within this is a failed attempt: the p99 that cloud.md §5.2 allows. */
export const PROVISION_MS_MAX = 120_000;
/** Interval at which everything is reconciled without a change event: events can be lost. */
export const RECONCILE_EVERY_MS = 5_000;
/** Bounds of the random pauses between attempts to restart a runtime that worked before. */
export const RECOVER_FIRST_MS = 2_000;
export const RECOVER_LONGEST_MS = 120_000;
/** After this many failures of a runtime that worked before, about half an hour, its environment has failed and an operator must act. */
export const RECOVER_TRIES_MAX = 30;
/** Environments that are changed at the same time: each may start a process. */
export const RECONCILE_AT_ONCE = 8;
/** Interval at which runtimes are polled for their usage: it must be visible within 60 s. */
export const USAGE_POLL_EVERY_MS = 10_000;
/** A runtime that does not answer within this time is polled again next time. */
export const USAGE_POLL_TIMEOUT_MS = 3_000;
/** Sources without a report for this long are deleted; a source is a run of a process, and ends. */
export const USAGE_SOURCE_MS = 90 * 86_400_000;
/** Interval at which quotas and idleness are checked. */
export const QUOTAS_EVERY_MS = 60_000;
/** Part of the monthly actions above which environments are suspended (cloud.md §5.4). */
export const SUSPEND_ABOVE = 1.2;

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
/** Dangerous actions need a new confirmation when this much time has passed since the last one. */
export const CONFIRMED_MS = 15 * 60_000;
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
/** How often one user code may be shown, right or wrong (cloud.md §1.7). */
export const DEVICE_CODE_ATTEMPTS_MAX = 50;
/** How long a browser counts as one in which a user has signed in; it grants no access. */
export const DEVICE_COOKIE_MS = 180 * 86_400_000;
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

/** A step of the mail server that takes longer fails, and the mail is sent again later. */
export const MAIL_TIMEOUT_MS = 10_000;
/** Interval of polls for pending mail: the user waits at a page that announces it. */
export const MAIL_POLL_MS = 2_000;
/** Sent at the same time by one process. */
export const MAILS_AT_ONCE = 5;
/**
 * Bounds of the random pauses between attempts to send one. A running attempt holds the mail for the first, which must be longer than the
 * attempt.
 */
export const MAIL_AGAIN_FIRST_MS = 60_000;
export const MAIL_AGAIN_LONGEST_MS = 3_600_000;
/** After this time a mail is not useful any more. */
export const MAIL_GIVEN_UP_MS = 86_400_000;
/** More means that no mail can be sent: some megabytes. */
export const MAILS_WAITING_MAX = 10_000;
/** Of these, when an invitation is added: otherwise invitations of all accounts could use all places, and no sign-in link could be sent. */
export const INVITATION_MAILS_WAITING_MAX = 5_000;
/** How long links in mail work: confirming an address is not urgent, a password is changed now. */
export const VERIFY_LINK_MS = 86_400_000;
export const RESET_LINK_MS = 30 * 60_000;
/** Part of a month's quota at which owners get a mail (cloud.md §5.4). */
export const WARN_ABOVE = 0.8;
/** Part of the idle period after which owners get a mail: at 10 of 14 days (cloud.md §5.4). */
export const IDLE_WARNED_SHARE = 10 / 14;

/** Attempts per window, per address or account. */
export const RATES = {
  /** Users share addresses; a program that guesses has thousands of passwords to try. */
  "sign-in by address": { max: 60, windowMs: 600_000 },
  /** More wrong passwords than an owner needs; from another address the account can still be signed in to. */
  "sign-in to account by address": { max: 10, windowMs: 900_000 },
  /** From all networks together: a distributed attack is bounded by this. */
  "sign-in to account": { max: 100, windowMs: 900_000 },
  /** For a browser in which the owner has signed in before: attempts from elsewhere do not count for it. */
  "sign-in by known browser": { max: 10, windowMs: 900_000 },
  /** A stolen session must not be used to guess the password. */
  "confirmation of session": { max: 10, windowMs: 900_000 },
  "sign-up by address": { max: 20, windowMs: 3_600_000 },
  "device code by address": { max: 30, windowMs: 600_000 },
  /** cloud.md §1.7. */
  "user code by address": { max: 10, windowMs: 60_000 },
  /** As often as a code may be shown during its lifetime. */
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

/** Requests of the console to environments at the same time: each holds two sockets and little else. */
export const PROXIED_AT_ONCE_MAX = 512;
/** Interval at which their sessions are checked, all with one query: signing out should take effect soon. */
export const SESSIONS_POLL_MS = 2_000;
/** Of these, for one user: several tabs of a browser with six requests each; a few users cannot use all slots. */
export const PROXIED_OF_USER_MAX = 48;
/** No plan allows a larger body (cloud.md §6.5); the gateway enforces the plan. */
export const PROXIED_BODY_BYTES_MAX = 32 * 1024 * 1024;
/** A gateway is near: when it does not connect within this time, it is unreachable. */
export const PROXIED_CONNECT_MS = 5_000;
/** Idle connections are probed after this: services may take hours. */
export const PROXIED_KEEP_ALIVE_MS = 30_000;
/** Management answers within a minute or the gateway refuses; tenancy waits a little longer to forward that refusal. */
export const PROXIED_HEADERS_MS = 75_000;
/** Lifetime of access tokens for the console's page, and for how many sessions they are cached: some hundred bytes each. */
export const MINTED_TOKEN_SECONDS = 300;
export const MINTED_TOKENS_MAX = 10_000;

/** Series of environment counts by plan and state: a platform has a handful of plans, and an environment a dozen states. */
export const ENVIRONMENT_SERIES_MAX = 200;
