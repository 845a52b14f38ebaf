/** Bounds of this package, each with its reason. */

/** Connections to one host at a time: most functions scale on fewer, and more could overload the host. */
export const CONNECTIONS_PER_HOST_MAX = 100;

/** Addresses of one look-up that are checked; a name with more is refused. */
export const ANSWERS_MAX = 64;

/** Characters of a host name, and of one of its labels (RFC 1035 §2.3.4). */
export const HOST_CHARS_MAX = 253;
export const LABEL_CHARS_MAX = 63;
