/** HTTP/1.1 and HTTP/2 for every program that listens: one way to accept connections, to bound what clients send, and to end. */

export { type Certificate, type CertificateSource, WatchedCertificate } from "./certificates.js";
export { FirstHeaders } from "./first-headers.js";
export type { GuardRefusal, RequestGuard } from "./guard.js";
export { boundHandshakes } from "./handshakes.js";
export * as httpLimits from "./limits.js";
export { boundRestOfBody, boundRestOfStream, isLeaving, lingerBeforeClose } from "./linger.js";
export { createHttpPort, type HttpHandlers, type HttpPort, type HttpPortOptions, type ListenAddress } from "./port.js";
export { sniffProtocol } from "./sniff.js";
