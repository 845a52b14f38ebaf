/** Bounds of tenancy, and why. */

/** No operation of the Cloud API takes more than some texts. */
export const REQUEST_BODY_BYTES_MAX = 64 * 1024;
/** …and all of them arrive in one piece: who takes longer for it holds a place that others need (T22). */
export const REQUEST_BODY_MS = 10_000;
/** Answered at once by one process; the database has far fewer connections, so more would only wait. */
export const REQUESTS_MAX = 256;
/** …of them, for one network: half, so that nobody alone shuts the door. */
export const REQUESTS_OF_NETWORK_MAX = 128;
/** How long browsers remember that a name is reached by https only: a year, as lists of such names ask for. */
export const HSTS_SECONDS = 31_536_000;
/** Running requests get this long when the process ends: less than the patience of the official command line. */
export const DRAIN_MS = 10_000;
/** Lines of the audit log in one answer, unless more are asked for. */
export const AUDIT_PAGE_DEFAULT = 100;
/** Lines read from the database at a time while the audit log is exported. */
export const AUDIT_EXPORT_PAGE = 500;
/** Lines of one export: about 100 MB; ask for a shorter time to get the rest. */
export const AUDIT_EXPORT_LINES_MAX = 500_000;
/** Lines of `GetEnvironmentLogs`. */
export const LOG_LINES_MAX = 500;
/** Days of one `GetUsage`. */
export const USAGE_DAYS_MAX = 400;
/** Calls of one user to the Cloud API: a page asks some dozen things when it opens, and scripts wait for each other. */
export const API_CALLS = { perSecond: 20, burst: 200 } as const;
/** Operations that read much count as so many calls. */
export const DEAR_CALL_COST = 10;
/** Users whose calls are counted; some hundred bytes each. */
export const CALLING_USERS_MAX = 100_000;
/** An invitation is good for this long (cloud.md §4.6). */
export const INVITATION_MS = 7 * 86_400_000;
/** Open invitations of an account: enough for a big team, too few to send spam with. */
export const INVITATIONS_MAX = 50;
/** How long the data of a destroyed environment can still be brought back (cloud.md §5.2). */
export const ERASE_AFTER_MS = 7 * 86_400_000;
/** Environments that take room, those that are being deleted among them, for each that the plan allows: one may be replaced at once, not again and again. */
export const KEPT_PER_PLANNED = 2;
/** Signing keys may be retired this long after they were replaced (cloud.md §3.5). */
export const RETIRE_AFTER_MS = 86_400_000;
/** `last used` is written at most this often (cloud.md §4.3). */
export const LAST_USED_EVERY_MS = 300_000;
/** A relay that says nothing for this long has no tunnels. */
export const TUNNELS_EXPIRY_MS = 30_000;
/** A gateway that says nothing for this long has no share of any rate; it says something every second. */
export const GATEWAY_EXPIRY_MS = 5_000;

/** What older keys sealed is tried again after this when it could not be sealed anew: nobody waits for it. */
export const RENEWAL_AGAIN_MS = 60_000;

/** Access tokens (cloud.md §1.2): the official command line cannot renew them, so people log in this often. */
export const ACCESS_TOKEN_SECONDS = 12 * 3_600;
/** A key is published this long before it signs, and this long after its last token has expired. */
export const TOKEN_KEY_SHOWN_MS = 86_400_000;
/** A key signs for this long before the next one does. */
export const TOKEN_KEY_SIGNS_MS = 30 * 86_400_000;
/** How often each process reads the keys again, and looks whether a new one is due. */
export const TOKEN_KEYS_READ_MS = 60_000;
/** A token that names a key we do not know makes us look, but not more often than this: anybody can send one. */
export const TOKEN_KEYS_RELOAD_MS = 1_000;

/** Attempts to make a runtime before its environment counts as failed (cloud.md §5.2). */
export const PROVISION_TRIES_MAX = 3;
/** A runtime that does not answer within this is a failed attempt: the p99 that cloud.md §5.2 allows. */
export const PROVISION_MS_MAX = 120_000;
/** Everything is looked at this often even when nothing was heard: news can be lost. */
export const RECONCILE_EVERY_MS = 5_000;
/** Bounds of the random pauses between attempts to bring up a runtime that did work once. */
export const RECOVER_FIRST_MS = 2_000;
export const RECOVER_LONGEST_MS = 120_000;
/** So many failures of a runtime that worked once, about half an hour of them, and its environment has failed: somebody must look. */
export const RECOVER_TRIES_MAX = 30;
/** Environments that are being changed at the same time: each may start a process. */
export const RECONCILE_AT_ONCE = 8;
/** Runtimes are asked for their usage this often: it must be seen within 60 s. */
export const USAGE_POLL_EVERY_MS = 10_000;
/** A runtime that does not tell within this is asked again next time. */
export const USAGE_POLL_TIMEOUT_MS = 3_000;
/** Sources that said nothing for this long are forgotten; they are lives of processes, which end. */
export const USAGE_SOURCE_MS = 90 * 86_400_000;
/** Quotas and idleness are looked at this often. */
export const QUOTAS_EVERY_MS = 60_000;
/** Part of the monthly actions above which environments are suspended (cloud.md §5.4). */
export const SUSPEND_ABOVE = 1.2;

/** Passwords: Argon2id as OWASP advises for servers: 19 MiB and two passes make a guess dear, and a sign-in some tens of milliseconds. */
export const PASSWORD_MEMORY_KIB = 19_456;
export const PASSWORD_PASSES = 2;
/** Hashed at the same time, each in a thread of its own: Node has four. */
export const PASSWORDS_AT_ONCE = 4;
/** Waiting for a thread: some seconds of work; others are told to come again. */
export const PASSWORDS_WAITING_MAX = 64;
/** NIST asks for fifteen where nothing else is asked for, and eight otherwise; guesses are few here. */
export const PASSWORD_CHARS_MIN = 12;
/** Long enough for every phrase, short enough to hash. */
export const PASSWORD_CHARS_MAX = 256;
/** A browser stays signed in for this long. */
export const BROWSER_SESSION_MS = 7 * 86_400_000;
/** A device stays logged in for this long, if it comes for new tokens. */
export const DEVICE_SESSION_MS = 90 * 86_400_000;
/** What is dangerous asks again who sits there when this has passed since they showed it. */
export const CONFIRMED_MS = 15 * 60_000;
/** Sessions of a kind that a user has at the same time; the oldest ends. */
export const SESSIONS_PER_USER_MAX = 50;
/** A form of a page is some hundred bytes. */
export const FORM_BYTES_MAX = 16 * 1024;
/** Of the path that somebody returns to after signing in: a page of the console with its filters. */
export const RETURN_CHARS_MAX = 2_000;
/** What a device may call itself. */
export const DEVICE_NAME_CHARS_MAX = 64;
/** Of an answer of OAuth, and of the interval between polls (cloud.md §1.7). */
export const DEVICE_CODE_MS = 600_000;
export const DEVICE_POLL_MS = 5_000;
/** Two codes at once that are the same are rarer than one in a billion; five in a row are a mistake. */
export const USER_CODE_TRIES_MAX = 5;
/** How often one user code may be looked at, right or wrong (cloud.md §1.7). */
export const DEVICE_CODE_ATTEMPTS_MAX = 50;
/** How long a browser is known in which somebody has signed in; it opens nothing. */
export const DEVICE_COOKIE_MS = 180 * 86_400_000;
/** An unfinished sign-in at another provider. */
export const OIDC_FLOW_MS = 600_000;
/** The other provider must answer within this: somebody looks at an empty page. */
export const OIDC_TIMEOUT_SECONDS = 5;
/** How long ago people may have shown it who they are: nobody is asked again, but who says a bound is told when that was (OIDC core §2). */
export const OIDC_SHOWN_SECONDS_MAX = 365 * 86_400;
/** How much its clock may be behind ours. */
export const OIDC_SKEW_SECONDS = 60;
/** Of one answer of the other provider: keys and tokens are some kilobytes. */
export const OIDC_ANSWER_BYTES_MAX = 512 * 1024;
/** Lines about one sign-in in the audit log: one for each account of the user, up to this. */
export const LOGIN_AUDIT_ACCOUNTS_MAX = 10;
/** Known to be blocked until some time, without asking the database; an old one is forgotten for a new one. */
export const BLOCKED_CACHED_MAX = 10_000;

/** A mail server that takes longer for a step is tried again later. */
export const MAIL_TIMEOUT_MS = 10_000;
/** How often any process looks for mail that waits: somebody sits in front of a page that tells them to look for it. */
export const MAIL_POLL_MS = 2_000;
/** Sent at the same time by one process. */
export const MAILS_AT_ONCE = 5;
/** Bounds of the random pauses between attempts to send one. Meanwhile it is held for the first, which must be longer than an attempt takes. */
export const MAIL_AGAIN_FIRST_MS = 60_000;
export const MAIL_AGAIN_LONGEST_MS = 3_600_000;
/** After this nobody waits for it any more. */
export const MAIL_GIVEN_UP_MS = 86_400_000;
/** More means that none can be sent: some megabytes. */
export const MAILS_WAITING_MAX = 10_000;
/** …of them, when an invitation is added: accounts together could fill all places, and nobody would get a link to sign in. */
export const INVITATION_MAILS_WAITING_MAX = 5_000;
/** How long the links in mail work: an address is confirmed when there is time, a password is changed now. */
export const VERIFY_LINK_MS = 86_400_000;
export const RESET_LINK_MS = 30 * 60_000;
/** Part of a month's quota at which its owners are told (cloud.md §5.4). */
export const WARN_ABOVE = 0.8;
/** How long before it is suspended the owners of an idle environment are told: at 10 of 14 days (cloud.md §5.4). */
export const IDLE_WARNED_SHARE = 10 / 14;

/** How often what may be tried in which time, per address or account. */
export const RATES = {
  /** People share addresses; a program that guesses has thousands of words. */
  "sign-in by address": { max: 60, windowMs: 600_000 },
  /** More wrong passwords than anybody remembers; from elsewhere the account can still be signed in to. */
  "sign-in to account by address": { max: 10, windowMs: 900_000 },
  /** From all networks together: many machines that guess get no further than this. */
  "sign-in to account": { max: 100, windowMs: 900_000 },
  /** Of a browser in which its owner has signed in before: what others guess does not count for it. */
  "sign-in by known browser": { max: 10, windowMs: 900_000 },
  /** A stolen session is no place to guess a password. */
  "confirmation of session": { max: 10, windowMs: 900_000 },
  "sign-up by address": { max: 20, windowMs: 3_600_000 },
  "device code by address": { max: 30, windowMs: 600_000 },
  /** cloud.md §1.7. */
  "user code by address": { max: 10, windowMs: 60_000 },
  /** As often as a code may be looked at in its life. */
  "user code by user": { max: 50, windowMs: 600_000 },
  /** 226 bits are not guessed; this bounds what a loop costs. */
  "token by address": { max: 600, windowMs: 60_000 },
  /** A device needs one in twelve hours; each leaves a row until the session is over. */
  "refresh of session": { max: 30, windowMs: 3_600_000 },
  "other provider by address": { max: 60, windowMs: 600_000 },
  /** Each may send a mail to somebody who did not ask for it. */
  "mail by address": { max: 10, windowMs: 3_600_000 },
  "mail to account": { max: 3, windowMs: 3_600_000 },
  /** A link has 256 bits; this bounds what a loop costs. */
  "link by address": { max: 30, windowMs: 600_000 },
  "invitation by address": { max: 30, windowMs: 600_000 },
  /** Each is a mail in our name, with a name of the account's choice in it. */
  "invitation of account": { max: 100, windowMs: 86_400_000 },
  "invitation to recipient": { max: 10, windowMs: 86_400_000 },
  "invitation of account to recipient": { max: 3, windowMs: 3_600_000 },
} as const;

/** Requests of the console to environments at the same time: each holds two sockets and little else. */
export const PROXIED_AT_ONCE_MAX = 512;
/** Their sessions are looked at this often, all with one question: whoever signs out wants it to be so. */
export const SESSIONS_POLL_MS = 2_000;
/** …of one person: several tabs of a browser that asks six things at once; a handful of people cannot fill the room. */
export const PROXIED_OF_USER_MAX = 48;
/** No plan allows a larger body (cloud.md §6.5); the gateway looks at the plan. */
export const PROXIED_BODY_BYTES_MAX = 32 * 1024 * 1024;
/** A gateway is near: what does not connect in this time does not answer. */
export const PROXIED_CONNECT_MS = 5_000;
/** A connection on which nothing moves is tried after this: services may think for hours. */
export const PROXIED_KEEP_ALIVE_MS = 30_000;
/** Management answers within a minute or is refused by the gateway, in its words: so we wait a little longer. */
export const PROXIED_HEADERS_MS = 75_000;
/** Of access tokens that the console's page is served with, and for how many sessions they are kept: some hundred bytes each. */
export const MINTED_TOKEN_SECONDS = 300;
export const MINTED_TOKENS_MAX = 10_000;

/** Plans by states that metrics tell: a platform has a handful of plans, and an environment is in one of a dozen states. */
export const ENVIRONMENT_SERIES_MAX = 200;
