/** `/deployments`: discover an endpoint and make its handlers callable, list and show deployments, move and remove them. */
import type { DeploymentRecord, Registry, RequestedAddress } from "@perdure/metadata";
import { z } from "zod";
import { empty, json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { listAnswer, PAGE_QUERY } from "../http/page.js";
import type { ApiRequest, ApiVersion } from "../http/request.js";
import type { ApiRoute, RouteOperation } from "../http/route.js";
import { deploymentParam } from "../ids.js";
import { DeploymentShape, DeploymentSummaryShape, RegistrationShape } from "../views/deployment-shape.js";
import { deploymentDetail, deploymentSummary, registrationView } from "../views/deployment-view.js";
import { listShape } from "../views/service-shape.js";
import { refusalOf, requestedBoundsOf, Verify } from "./deploy-check.js";

/** Characters of a URI (RFC 3986); a later check, with a better message, requires it to be absolute. */
const UriText = z.string().regex(/^[!#-;=?-[\]_a-z~%]+$/i, "is not a URI");
const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "is not a header name");
const HeaderValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, "is not a header value");
const Headers = z.record(HeaderName, HeaderValue);
const Metadata = z.record(z.string(), z.string());
const Flag = z.boolean().default(false);

/** Tokens of one cloud platform. We cannot create them, so the request is refused instead of sent without a token. */
const Auth = z.looseObject({}).nullish();

const shared = { additional_headers: Headers.nullish(), dry_run: Flag, auth: Auth };
const registration = { ...shared, metadata: Metadata.nullish(), breaking: Flag, force: z.boolean().nullish(), verify: Verify };

const RegisterHttp = z.object({ uri: UriText, use_http_11: Flag, ...registration });
const RegisterLambda = z.object({ arn: z.string(), assume_role_arn: z.string().nullish(), ...registration });
const RegisterDeployment = z.union([RegisterHttp, RegisterLambda]).meta({ id: "RegisterDeploymentRequest" });
const DeploymentsShape = listShape("deployments", DeploymentSummaryShape, "ListDeploymentsResponse");

const UpdateDeployment = z
  .object({
    uri: UriText.nullish(),
    use_http_11: z.boolean().nullish(),
    arn: z.string().nullish(),
    assume_role_arn: z.string().nullish(),
    overwrite: Flag,
    ...shared,
  })
  .meta({ id: "UpdateDeploymentRequest" });

export function deploymentRoutes(registry: Registry): readonly ApiRoute[] {
  const update: RouteOperation = {
    summary: "Update a deployment in place",
    body: UpdateDeployment,
    answers: { 200: "The deployment", 400: "Not similar enough (META0016)", 404: "Unknown deployment", 500: "Discovery failed" },
    results: { 200: DeploymentShape },
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
    {
      path: "/deployments",
      operations: {
        GET: {
          summary: "List deployments, oldest first",
          query: PAGE_QUERY,
          answers: { 200: "All deployments, or a page of them" },
          results: { 200: DeploymentsShape },
          handle: (request) => listAnswer(request, "deployments", registry.deployments(), ageKey, deploymentSummary),
        },
        POST: {
          summary: "Register a deployment",
          body: RegisterDeployment,
          query: { verify: "`true`: replay journals of existing invocations against the new code first, performing nothing" },
          answers: {
            200: "Known and unchanged, or replaced by force",
            201: "Registered",
            400: "Invalid address or manifest",
            409: "Conflict (META0004, META0006, META0017, META0101)",
            500: "Discovery failed (META0003, META0012 to META0015)",
          },
          results: { 200: RegistrationShape, 201: RegistrationShape },
          handle: (request) => register(registry, request),
        },
      },
    },
    {
      path: "/deployments/{deployment}",
      operations: {
        GET: {
          summary: "One deployment with its services",
          answers: { 200: "The deployment", 404: "Unknown deployment" },
          results: { 200: DeploymentShape },
          handle: (request) => {
            const id = deploymentParam(request);
            const deployment = registry.deployment(id);
            if (deployment === undefined) throw new RouteError(404, `The requested deployment '${id}' does not exist`);
            return json(200, deploymentDetail(registry, deployment));
          },
        },
        DELETE: {
          summary: "Remove a deployment",
          query: { force: "`true`: even when invocations still need it" },
          answers: { 202: "Removed", 404: "Unknown deployment", 409: "Still needed" },
          handle: async (request) => {
            const id = deploymentParam(request);
            await registry.remove(id, request.flag("force", false));
            return empty(202);
          },
        },
        PATCH: update,
        PUT: update,
      },
    },
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

function refuseAuth(auth: z.infer<typeof Auth>): void {
  if (auth === undefined || auth === null) return;
  throw new RouteError(
    400,
    "The request field 'auth' is invalid. Reason: this server cannot mint tokens; pass a credential in 'additional_headers'.",
  );
}
