/** Bounds of requests to the cloud, with their reasons. */

/** Largest body of a request: no operation of the Cloud API needs more than some texts. */
export const REQUEST_BODY_BYTES_MAX = 64 * 1024;
/** Bodies arrive in one piece; a slower one occupies a slot that other requests need (T22). */
export const REQUEST_BODY_MS = 10_000;
