/**
 * Converts payloads in other formats from and to JSON for display and editing. Only the code of a handler can convert them, so these routes
 * pass the request on to its endpoint (admin-api.md §5.3).
 */
import { convertPayload } from "@perdure/admin-contract";
import type { DeploymentRecord, Registry } from "@perdure/metadata";
import { type ApiAnswer, bytes } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import type { ApiRequest } from "../http/request.js";
import { type ApiRoute, route } from "../http/route.js";
import type { AdminPorts } from "../ports.js";
import { deploymentQuery } from "./invocations.js";
import { requireService } from "./services.js";

type SerdePorts = Pick<AdminPorts, "registry" | "callEndpoint">;

export function serdeRoutes(ports: SerdePorts): readonly ApiRoute[] {
  return (["decode", "encode"] as const).map((direction) =>
    route(convertPayload(direction), {
      isInternal: true,
      summary: direction === "decode" ? "Show a payload as JSON" : "Make a payload of JSON",
      answers: { 200: "The payload", 400: "Unknown deployment", 404: "Unknown service", 500: "The deployment cannot do it" },
      handle: (request) => passOn(ports, direction, request),
    }),
  );
}

async function passOn({ registry, callEndpoint }: SerdePorts, direction: string, request: ApiRequest): Promise<ApiAnswer> {
  const service = request.param("service");
  const deployment = deploymentFor(registry, service, request);
  const serde = request.param("serde").split("/").map(encodeURIComponent).join("/");
  const question = {
    path: `/serdes/${encodeURIComponent(service)}/${direction}/${serde}`,
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
  const choice = deploymentQuery(request, { kind: "latest" });
  if (choice.kind !== "id") return latest;
  const named = registry.deployment(choice.id);
  if (named === undefined) throw new RouteError(400, `The requested deployment '${choice.id}' does not exist`);
  return named;
}
