/** `/deployments`: discover an endpoint and make its handlers callable, list and show deployments, move and remove them. */
import {
  getDeployment,
  listDeployments,
  putDeployment,
  registerDeployment,
  removeDeployment,
  updateDeployment,
} from "@perdure/admin-contract";
import { RegisterDeployment, UpdateDeployment } from "@perdure/admin-contract/requests";
import type { DeploymentRecord, Registry, RequestedAddress } from "@perdure/metadata";
import type { z } from "zod";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer } from "../http/page.js";
import type { ApiRequest, ApiVersion } from "../http/request.js";
import { type ApiRoute, type RouteImplementation, route } from "../http/route.js";
import { deploymentParam } from "../ids.js";
import { asDeletion } from "../operations/apply-undoable.js";
import type { AdminPorts } from "../ports.js";
import { deploymentDetail, deploymentSummary, registrationView } from "../views/deployment-view.js";
import { refusalOf, requestedBoundsOf } from "./deploy-check.js";

export function deploymentRoutes(ports: AdminPorts): readonly ApiRoute[] {
  const { registry } = ports;
  const update: RouteImplementation = {
    summary: "Update a deployment in place",
    body: UpdateDeployment,
    answers: { 200: "The deployment", 400: "Not similar enough (META0016)", 404: "Unknown deployment", 500: "Discovery failed" },
    handle: async (request) => {
      const id = deploymentParam(request);
      const body = await request.json(UpdateDeployment);
      refuseAuth(body.auth);
      const address = addressOfUpdate(body);
      const changes = {
        address,
        additionalHeaders: body.additional_headers ?? undefined,
        overwrite: body.overwrite,
        dryRun: body.dry_run,
      };
      return json(200, deploymentDetail(registry, await registry.update(id, changes, request.signal)));
    },
  };
  return [
    route(listDeployments, {
      summary: "List deployments, oldest first",
      answers: { 200: "All deployments, or a page of them" },
      handle: (request) => listAnswer(request, "deployments", registry.deployments(), ageKey, deploymentSummary),
    }),
    route(registerDeployment, {
      summary: "Register a deployment",
      body: RegisterDeployment,
      answers: {
        200: "Known and unchanged, or replaced by force",
        201: "Registered",
        400: "Invalid address or manifest",
        409: "Conflict (META0004, META0006, META0017, META0101)",
        500: "Discovery failed (META0003, META0012 to META0015)",
      },
      handle: (request) => register(registry, request),
    }),
    route(getDeployment, {
      summary: "One deployment with its services",
      answers: { 200: "The deployment", 404: "Unknown deployment" },
      handle: (request) => {
        const id = deploymentParam(request);
        const deployment = registry.deployment(id);
        if (deployment === undefined) throw new RouteError(404, `The requested deployment '${id}' does not exist`);
        return json(200, deploymentDetail(registry, deployment));
      },
    }),
    route(removeDeployment, {
      summary: "Remove a deployment",
      answers: { 202: "Removed", 404: "Unknown deployment", 409: "Still needed" },
      handle: async (request) => {
        const id = deploymentParam(request);
        const force = request.flag("force", false);
        const deletion = { verb: "delete-deployment", subject: `deployment ${id}`, record: registry.deployment(id) } as const;
        const { headers } = await asDeletion(ports, request, deletion, (undo) => registry.remove(id, force, undo));
        return empty(202, headers);
      },
    }),
    route(updateDeployment, update),
    route(putDeployment, update),
  ];
}

/** Sorts oldest first; the timestamp is padded to the digits of the latest possible one. */
function ageKey({ createdAtMs, id }: DeploymentRecord): string {
  return `${String(createdAtMs).padStart(16, "0")} ${id}`;
}

async function register(registry: Registry, request: ApiRequest) {
  const body = await request.json(RegisterDeployment);
  refuseAuth(body.auth);
  const address: RequestedAddress =
    "uri" in body
      ? { kind: "http", uri: body.uri, useHttp11: body.use_http_11 }
      : { kind: "lambda", arn: body.arn, assumeRoleArn: body.assume_role_arn ?? undefined };
  const registerRequest = {
    address,
    additionalHeaders: body.additional_headers ?? {},
    metadata: body.metadata ?? {},
    force: body.force ?? request.version === 2,
    breaking: body.breaking,
    dryRun: body.dry_run,
    acceptUnchanged: acceptsUnchanged(request.version),
  };
  const requestedBounds = requestedBoundsOf(body.verify, request);
  const verification = requestedBounds && (await registry.checkRegistration(registerRequest, requestedBounds, request.signal));
  const refusal = verification && refusalOf(verification, body.breaking);
  if (refusal !== undefined) return refusal;
  const { kind, deployment } = await registry.register({ ...registerRequest, verification }, request.signal);
  const status = kind === "created" || request.version === 2 ? 201 : 200;
  return json(status, registrationView(registry, deployment, verification), { location: `deployments/${deployment.id}` });
}

/** Tools of these versions register on every deploy and expect success when nothing changed. */
function acceptsUnchanged(version: ApiVersion): boolean {
  return version === 3 || version === 4;
}

function addressOfUpdate(body: z.infer<typeof UpdateDeployment>): RequestedAddress | undefined {
  if (body.uri !== undefined && body.uri !== null) {
    return { kind: "http", uri: body.uri, useHttp11: body.use_http_11 ?? false };
  }
  if (body.arn === undefined || body.arn === null) return undefined;
  return { kind: "lambda", arn: body.arn, assumeRoleArn: body.assume_role_arn ?? undefined };
}

function refuseAuth(auth: z.infer<typeof UpdateDeployment>["auth"]): void {
  if (auth === undefined || auth === null) return;
  throw new RouteError(
    400,
    "The request field 'auth' is invalid. Reason: this server cannot mint tokens; pass a credential in 'additional_headers'.",
  );
}
