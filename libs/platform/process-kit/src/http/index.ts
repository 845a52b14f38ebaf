/** Listeners as parts of a process: their settings, their public certificate, probes. Serving itself is in `@perdure/http-server`. */

export {
  type BoundListener,
  checkAddress,
  checkUnshared,
  isBeyondLoopback,
  type ListenerSettings,
  listenOn,
  openListener,
} from "./listener.js";
export { type Elsewhere, openProbes, type ProbeEndpoints, type Probes } from "./probes.js";
export { checkPair, observeCertificate, readPublicCertificate } from "./public-certificate.js";
