/** Shapes of responses about deployments. Clients distinguish HTTP from Lambda deployments by the fields that are present. */
import { z } from "zod";
import { listShape, TextMapShape, TimeShape } from "../fields.js";
import { ServiceShape } from "../services/responses.js";
import { VerificationShape } from "./verification.js";

const common = {
  id: z.string(),
  additional_headers: TextMapShape.optional(),
  metadata: TextMapShape.optional(),
  created_at: TimeShape,
  min_protocol_version: z.int(),
  max_protocol_version: z.int(),
  sdk_version: z.string().optional(),
};
const http = {
  uri: z.string(),
  protocol_type: z.enum(["BidiStream", "RequestResponse"]),
  http_version: z.enum(["HTTP/1.1", "HTTP/2.0"]),
};
const lambda = {
  arn: z.string(),
  assume_role_arn: z.string().optional(),
  compression: z.enum(["Zstd"]).optional(),
};
const brief = { services: z.array(z.strictObject({ name: z.string(), revision: z.int() })) };
const full = { services: z.array(ServiceShape), verification: VerificationShape.optional() };

export const DeploymentSummaryShape = z
  .union([z.strictObject({ ...common, ...http, ...brief }), z.strictObject({ ...common, ...lambda, ...brief })])
  .meta({ id: "DeploymentResponse" });

export const DeploymentDetailShape = z
  .union([z.strictObject({ ...common, ...http, ...full }), z.strictObject({ ...common, ...lambda, ...full })])
  .meta({ id: "DetailedDeploymentResponse" });

export const RegistrationShape = z
  .strictObject({
    id: z.string(),
    services: z.array(ServiceShape),
    min_protocol_version: z.int(),
    max_protocol_version: z.int(),
    sdk_version: z.string().optional(),
    verification: VerificationShape.optional(),
  })
  .meta({ id: "RegisterDeploymentResponse" });

export const DeploymentsShape = listShape("deployments", DeploymentSummaryShape, "ListDeploymentsResponse");
