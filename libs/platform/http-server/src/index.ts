/** Serves HTTP/1.1 and HTTP/2 on one port: listener, exchanges, limits of bodies and headers, timeouts. */

export { bindTo, type ListenAddress } from "./bind.js";
export { type BodyFailure, BodyGate, type BodyReading, type WholeBodyReceiver } from "./body-gate.js";
export { BodyMeter } from "./body-meter.js";
export { type Certificate, type CertificateSource, WatchedCertificate } from "./certificates.js";
export { connectionOf, endToEndHeaders, HOP_BY_HOP_HEADERS, namedByConnection } from "./end-to-end-headers.js";
export { type BodyReceiver, type ExchangeObserver, HttpExchange } from "./exchange.js";
export type { GuardRefusal, RequestGuard } from "./guard.js";
export { boundHandshakes } from "./handshakes.js";
export { connectionsMaxDefault } from "./limits.js";
export type { HttpPortOptions } from "./options.js";
export { createHttpPort, type HttpPort } from "./port.js";
export { renewCertificate, tlsOptions } from "./secured.js";
export type { UnreadableKind } from "./unreadable.js";
export { BodyNotRead, readWholeBody } from "./whole-body.js";
