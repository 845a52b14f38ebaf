/** Headers of one connection (RFC 9110 §7.6.1), in lower case: a proxy forwards none of them, in either direction. */
export const CONNECTION_HEADERS: readonly string[] = [
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "proxy-connection",
  "http2-settings",
];
