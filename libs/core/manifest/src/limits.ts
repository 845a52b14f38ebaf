/** Bounds of this package, each with its reason. */

/** Longest manifest text that is parsed: an endpoint with thousands of handlers and schemas stays far below it. */
export const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

/** Services of one deployment; the largest deployments have a few dozen. */
export const SERVICES_MAX = 4096;

/** Handlers of one service. */
export const HANDLERS_MAX = 4096;

/** Maximum characters that an error quotes of an undecodable response: enough to recognise a proxy's error page. */
export const QUOTED_RESPONSE_CHARS_MAX = 4096;

/** Longest duration in a manifest, in milliseconds (some 285 years): sums with the clock stay safe integers. */
export const DURATION_MS_MAX = 9_000_000_000_000;
