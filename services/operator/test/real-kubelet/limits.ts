/** Bounds of the kubelet of tests, each with the reason for its value. */

/**
 * Probes run this many times as often as the pod configures, so that a test need not wait for the first success; the number of failures is
 * as configured.
 */
export const PROBE_HASTE = 10;
export const PROBE_MS_MIN = 200;
/** A container that ended is started again after this long, and after twice as long each time it ends again. */
export const RESTART_FIRST_MS = 200;
export const RESTART_LONGEST_MS = 5_000;
/** A missing object that a pod refers to is read again at this interval, as kubelets do. */
export const REFERENCE_POLL_MS = 500;
/** Names are written down together after this long: many change at a time. */
export const NAMES_DELAY_MS = 20;
/** Length of a container's output that a failed test shows. */
export const LAST_OUTPUT_CHARS_MAX = 4_000;
