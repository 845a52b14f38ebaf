/** Why: every bound of this package in one place, each with the reason for its value. */

/** Connections to one host at a time: many functions scale on fewer, and more of them would make us a weapon against it. */
export const CONNECTIONS_PER_HOST_MAX = 100;

/** Answers to one look-up that are judged; a name with more is refused rather than judged in part. */
export const ANSWERS_MAX = 64;

/** Characters of a host name, and of one of its labels (RFC 1035 §2.3.4). */
export const HOST_CHARS_MAX = 253;
export const LABEL_CHARS_MAX = 63;
