/** The HTTP kit: one way for every role to listen. */

export {
  type Certificate,
  type CertificateSource,
  checkPair,
  observeCertificate,
  readPublicCertificate,
  WatchedCertificate,
} from "./certificates.js";
export { FirstHeaders } from "./first-headers.js";
export type { GuardRefusal, RequestGuard } from "./guard.js";
export { boundHandshakes } from "./handshakes.js";
export { IdleSessions } from "./idle-sessions.js";
export * as httpLimits from "./limits.js";
export { boundRestOfBody, boundRestOfStream, isLeaving, lingerBeforeClose } from "./linger.js";
export {
  type BoundListener,
  checkAddress,
  isBeyondLoopback,
  type ListenAddress,
  type ListenerSettings,
  listenOn,
  openListener,
} from "./listener.js";
export { createHttpPort, type HttpHandlers, type HttpPort, type HttpPortDependencies, type HttpPortOptions } from "./port.js";
export { type Elsewhere, openProbes, type ProbePorts } from "./probes.js";
export { type Protocol, protocolOf, sniffProtocol } from "./sniff.js";
