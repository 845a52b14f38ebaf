/** All routes of the management API. */
import { getDocument } from "@perdure/admin-contract";
import { consoleRoutes } from "./console/serve.js";
import { json } from "./http/answer.js";
import { type ApiRoute, mergedByPath, route } from "./http/route.js";
import { measuredSql } from "./metrics.js";
import { adminDocument } from "./openapi/admin-document.js";
import type { AdminOptions, AdminPorts } from "./ports.js";
import { batchOperationRoutes } from "./routes/batch-operations.js";
import { batchRoutes } from "./routes/batches.js";
import { bundleRoutes } from "./routes/bundle.js";
import { consoleDocumentRoutes } from "./routes/console-documents.js";
import { crashAttemptRoutes } from "./routes/crash-attempt.js";
import { deployCheckRoutes } from "./routes/deploy-check.js";
import { deploymentRoutes } from "./routes/deployments.js";
import { eventRoutes } from "./routes/events.js";
import { explainRoutes } from "./routes/explain.js";
import { forkRoutes } from "./routes/forks.js";
import { invocationRoutes } from "./routes/invocations.js";
import { kafkaRoutes } from "./routes/kafka.js";
import { metaRoutes } from "./routes/meta.js";
import { operationRoutes } from "./routes/operations.js";
import { queryRoutes } from "./routes/query.js";
import { ruleRoutes } from "./routes/rules.js";
import { scheduleRoutes } from "./routes/schedules.js";
import { serdeRoutes } from "./routes/serdes.js";
import { serviceRoutes } from "./routes/services.js";
import { stateRoutes } from "./routes/state.js";
import { subscriptionControlRoutes } from "./routes/subscription-control.js";
import { usageRoutes } from "./routes/usage.js";
import { vqueueRoutes } from "./routes/vqueues.js";

/** With the OpenAPI document, which lists the others. */
export function routesOf(ports: AdminPorts, options: AdminOptions): readonly ApiRoute[] {
  const routes: readonly ApiRoute[] = [
    ...metaRoutes(ports, options),
    ...consoleRoutes(),
    ...deploymentRoutes(ports),
    ...deployCheckRoutes(ports.registry),
    ...serviceRoutes(ports.registry, options.ingressEndpoint),
    ...serdeRoutes(ports),
    ...stateRoutes(ports),
    ...batchOperationRoutes(ports), // Before the routes that parse the segment after `/invocations/` as an id.
    ...invocationRoutes(ports),
    ...forkRoutes(ports),
    ...operationRoutes(ports),
    ...crashAttemptRoutes(ports),
    ...explainRoutes(ports),
    ...bundleRoutes(ports),
    ...batchRoutes(ports),
    ...kafkaRoutes(ports),
    ...subscriptionControlRoutes(ports),
    ...eventRoutes(ports),
    ...ruleRoutes(ports),
    ...scheduleRoutes(ports),
    ...queryRoutes(ports.measures === undefined ? ports.sql : measuredSql(ports.sql, ports.measures, ports.clock)),
    ...vqueueRoutes(ports),
    ...usageRoutes(ports),
    ...consoleDocumentRoutes(ports),
  ];
  return mergedByPath([...routes, documentRoute(mergedByPath(routes))]);
}

function documentRoute(routes: readonly ApiRoute[]): ApiRoute {
  return route(getDocument, {
    isInternal: true,
    summary: "This interface as an OpenAPI document",
    answers: { 200: "The document" },
    handle: () => json(200, adminDocument(routes)),
  });
}
