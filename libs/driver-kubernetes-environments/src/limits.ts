/** Bounds of the provisioner, each with the reason for its value. */

/** The first list of all environments; an API server that does not answer by then is asked again by whoever leads next. */
export const SYNC_MS_MAX = 60_000;
/** Erasing waits for pods that end in peace and for a namespace to go; what is left after that goes on by itself, and is waited for again. */
export const ERASE_MS_MAX = 300_000;
/** How often it is looked whether it is gone; it takes seconds. */
export const ERASE_POLL_MS = 500;
/** The longest reason that a state tells; conditions are shorter. */
export const REASON_CHARS_MAX = 1_024;
/** Largest body that the definition of environments allows. */
export const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** How long finished journals stay unless somebody says otherwise; less where a plan allows less. */
export const RETENTION_MS = 86_400_000;
/** Most deployments, services and subscriptions that the definition can bound. */
export const REGISTERED_MAX = 1_000_000;
/** The longest retention that it knows. */
export const KEPT_MS_MAX = 365 * 86_400_000;
