/** Bounds of the console proxy, with their reasons. */

/** Requests of the console to environments at the same time: each holds two sockets and little else. */
export const PROXIED_AT_ONCE_MAX = 512;
/** Interval at which their sessions are checked, all with one query: signing out should take effect soon. */
export const SESSIONS_POLL_MS = 2_000;
/** Number of these requests that one user may have: several tabs with six requests each. A few users cannot use all slots. */
export const PROXIED_OF_USER_MAX = 48;
/** Largest body of a request: no plan allows more (cloud.md §6.5), and the gateway enforces the plan. */
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
