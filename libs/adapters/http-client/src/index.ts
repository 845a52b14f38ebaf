/** Implements the endpoint transport over HTTP/2 and HTTP/1.1. */
export { type EndpointBase, endpointBase, requestTarget } from "./endpoint-base.js";
export { type FetchOutcome, type FetchRequest, fetchOnce } from "./fetch-once.js";
export {
  type CountingTransport,
  createHttpTransport,
  type HttpTransportDeps,
  type TransportConnectionCounts,
} from "./http-transport.js";
