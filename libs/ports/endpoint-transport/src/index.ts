/** Defines the port to user endpoints (byte streams and whole exchanges) and signs their requests. */
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
