/** Bounds of the Cloud API, with their reasons. */

/** Requests that one process answers at one time; the database has far fewer connections, so more would only wait. */
export const REQUESTS_MAX = 256;
/** Number of these requests that one network may have: half, so that one network cannot use up all slots. */
export const REQUESTS_OF_NETWORK_MAX = 128;
/** Time for which browsers use only https for a name: a year, as HSTS preload lists require. */
export const HSTS_SECONDS = 31_536_000;
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
/** Time for which a destroyed environment can be restored (cloud.md §5.2). */
export const ERASE_AFTER_MS = 7 * 86_400_000;
/** Environments that exist, deleting ones included, for each that the plan allows: one may be replaced at once, but not repeatedly. */
export const KEPT_PER_PLANNED = 2;
/** Signing keys may be retired this long after they were replaced (cloud.md §3.5). */
export const RETIRE_AFTER_MS = 86_400_000;
/** The tunnels of a relay that does not report for this long are dropped. */
export const TUNNELS_EXPIRY_MS = 30_000;
