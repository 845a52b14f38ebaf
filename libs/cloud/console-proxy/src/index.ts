/** Serves the console of the cloud: its session, and the requests that its page sends to environments. */

export { homeRoutes } from "./app.js";
export { consoleRoutes } from "./console.js";
export { createGatewayLink, type GatewayAddress, type GatewayLink } from "./gateway-link.js";
export { PROXIED_BODY_BYTES_MAX, PROXIED_HEADERS_MS } from "./limits.js";
