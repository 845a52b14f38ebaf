/** Why: the management API of one environment: REST for people and tools, SQL over what the partitions hold. */

import { type Route, routerOf } from "./http/route.js";
import { type RequestListener, serve } from "./http/server.js";
import type { AdminOptions, AdminPorts } from "./ports.js";
import { deploymentRoutes } from "./routes/deployments.js";
import { invocationRoutes } from "./routes/invocations.js";
import { metaRoutes } from "./routes/meta.js";
import { serviceRoutes } from "./routes/services.js";

/**
 * A request handler for `node:http` and `node:http2` servers alike (HTTP/2 through its compatibility API). It never throws, and
 * answers every error as JSON.
 */
export function createAdminApi(ports: AdminPorts, options: AdminOptions): RequestListener {
  return serve(routerOf(routesOf(ports, options)), ports.logger);
}

function routesOf(ports: AdminPorts, options: AdminOptions): readonly Route[] {
  return [
    ...metaRoutes(ports, options),
    ...deploymentRoutes(ports.registry),
    ...serviceRoutes(ports.registry),
    ...invocationRoutes(ports),
  ];
}
