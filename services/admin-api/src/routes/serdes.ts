/**
 * Converts payloads in other formats from and to JSON for display and editing. Only the code of a handler can convert them, so these routes
 * pass the request on to its endpoint (admin-api.md §5.3).
 */
import type { DeploymentRecord, Registry } from "@perdure/metadata";
import { type ApiAnswer, bytes } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import type { ApiRoute } from "../http/route.js";
import type { AdminPorts } from "../ports.js";
import { parseDeploymentChoice } from "./invocations.js";
import { requireService } from "./services.js";

type SerdePorts = Pick<AdminPorts, "registry" | "callEndpoint">;

export function serdeRoutes(ports: SerdePorts): readonly ApiRoute[] {
  return (["decode", "encode"] as const).map((operation) => ({
    path: `/internal/services/{service}/serdes/${operation}/{*serde}`,
    isInternal: true,
    operations: {
      POST: {
        summary: operation === "decode" ? "Show a payload as JSON" : "Make a payload of JSON",
        query: { deployment: "Deployment that converts: an id, or `latest` (default)" },
        answers: { 200: "The payload", 400: "Unknown deployment", 404: "Unknown service", 500: "The deployment cannot do it" },
        handle: (request) => passOn(ports, operation, request),
      },
    },
  }));
}

async function passOn({ registry, callEndpoint }: SerdePorts, operation: string, request: ApiRequest): Promise<ApiAnswer> {
  const service = request.param("service");
  const deployment = deploymentFor(registry, service, request);
  const serde = request.param("serde").split("/").map(encodeURIComponent).join("/");
  const question = {
    path: `/serdes/${encodeURIComponent(service)}/${operation}/${serde}`,
    contentType: request.header("content-type"),
    body: await request.bytes(),
  };
  const answer = await callEndpoint(deployment, question, request.signal);
  if (answer.kind === "failed") throw new RouteError(500, `the deployment '${deployment.id}' did not answer: ${answer.message}`);
  if (answer.status === 200) return bytes(200, answer.headers["content-type"] ?? "application/octet-stream", answer.body);
  const said = new TextDecoder().decode(answer.body.subarray(0, SAID_BYTES_MAX));
  throw new RouteError(
    500,
    `the deployment '${deployment.id}' answered ${answer.status}: it may not show payloads, or have no serde of this name. ${said}`,
  );
}

/** Bytes of an endpoint's error text that the answer repeats: enough to understand it. */
const SAID_BYTES_MAX = 2048;

function deploymentFor(registry: Registry, service: string, request: ApiRequest): DeploymentRecord {
  const latest = requireService(registry, service).deployment;
  const text = request.query.get("deployment");
  if (text === null) return latest;
  const choice = parseDeploymentChoice(
    text,
    (reason) => new RouteError(400, `The query parameter 'deployment' is invalid. Reason: ${reason}`),
  );
  if (choice.kind !== "id") return latest;
  const named = registry.deployment(choice.id);
  if (named === undefined) throw new RouteError(400, `The requested deployment '${choice.id}' does not exist`);
  return named;
}
