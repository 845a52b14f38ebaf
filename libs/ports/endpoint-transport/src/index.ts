/** The port towards user endpoints: byte streams, whole exchanges, and the identity that signs requests. */
export type {
  EndpointStream,
  EndpointTransport,
  LostAttempt,
  StreamListener,
  StreamRequest,
  TransportFailure,
} from "./endpoint-transport.js";
export { createRequestIdentity, type RequestIdentity } from "./identity.js";
export { exchangeWhole } from "./whole-exchange.js";
