/** Bounds of the provisioner, each with the reason for its value. */

/** Timeout of the first list of all environments; after it the process fails, and the next leader lists again. */
export const SYNC_MS_MAX = 60_000;
/**
 * Timeout of an erase, which waits for pods to end and for a namespace to be deleted; the deletion continues after it, and a later erase
 * waits again.
 */
export const ERASE_MS_MAX = 300_000;
/** Interval of the check whether an erased object is deleted; deletion takes seconds. */
export const ERASE_POLL_MS = 500;
/** Longest reason in a reported state; conditions are shorter. */
export const REASON_CHARS_MAX = 1_024;
/** Largest body that the definition of environments allows. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** Retention of completed journals unless the desired state has another value; shorter where a plan allows less. */
export const RETENTION_MS = 86_400_000;
/** Most deployments, services and subscriptions that the definition can bound. */
export const REGISTERED_MAX = 1_000_000;
/** Longest retention that an Environment accepts. */
export const KEPT_MS_MAX = 365 * 86_400_000;
