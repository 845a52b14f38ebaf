/** The management API of one environment: REST, and SQL over the state of the partitions. */

import { routesOf } from "./all-routes.js";
import { withConsole } from "./console/serve.js";
import { routerOf } from "./http/route.js";
import { type RequestListener, serve } from "./http/server.js";
import { adminMeasure } from "./metrics.js";
import type { AdminOptions, AdminPorts } from "./ports.js";

/**
 * A request handler for `node:http` and `node:http2` servers alike (HTTP/2 through its compatibility API). It never throws, and answers
 * every error as JSON.
 */
export function createAdminApi(ports: AdminPorts, options: AdminOptions): RequestListener {
  const routes = routesOf(ports, options);
  const measure = ports.measures === undefined ? undefined : adminMeasure(ports.measures, routes);
  const api = serve(routerOf(routes, { measure, clock: ports.clock, edge: ports.edge }), ports.logger);
  return withConsole(ports, options, api);
}
