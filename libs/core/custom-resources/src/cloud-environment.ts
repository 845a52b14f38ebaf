/**
 * The `CloudEnvironment` resource: a cluster of a customer connects to an environment that is hosted elsewhere, through tunnels that the
 * cluster opens (kubernetes.md §1.3).
 */
import { z } from "zod";
import { conditions } from "./conditions.js";
import type { KindSource } from "./definition.js";
import { type CustomResource, isResource } from "./object.js";
import { environmentId, list, map, passThrough, region, secretRef, text } from "./schema.js";

const tunnel = z.strictObject({
  replicas: z.int().min(1).max(20).default(2),
  image: text(512).optional(),
  resources: passThrough().optional(),
  nodeSelector: map(32).optional(),
  tolerations: list(passThrough(), 32).optional(),
  affinity: passThrough().optional(),
  env: list(passThrough(), 64).optional(),
  remoteProxy: z
    .boolean()
    .default(false)
    .describe("Opens ports 8080 and 9070 to the pods that a network policy allows; their requests are not authenticated."),
});

export const cloudEnvironmentSpec = z.strictObject({
  environmentId: environmentId(),
  region: region(),
  signingPublicKey: text(80)
    .regex(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]{32,60}$/)
    .describe("Shown by the environment; no secret."),
  authentication: z.strictObject({ secretRef: secretRef().describe("An API key, in a Secret of the operator's namespace.") }),
  tunnel: tunnel.prefault({}),
});

const count = () => z.int().min(0).max(1000).optional();

const cloudEnvironmentStatus = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  tunnel: z.strictObject({ name: text(80).optional(), replicas: count(), connected: count() }).optional(),
  conditions: conditions(),
});

type CloudEnvironmentSpec = z.output<typeof cloudEnvironmentSpec>;
type CloudEnvironmentStatus = z.output<typeof cloudEnvironmentStatus>;
export type CloudEnvironment = CustomResource<"CloudEnvironment", CloudEnvironmentSpec, CloudEnvironmentStatus>;

const isCloudEnvironment = (object: unknown): object is CloudEnvironment => isResource(object, "CloudEnvironment");
/** Undefined when the object is not an `CloudEnvironment` (see `isResource`). */
export const parseCloudEnvironment = (object: unknown): CloudEnvironment | undefined =>
  isCloudEnvironment(object) ? object : undefined;

export const cloudEnvironmentKind: KindSource = {
  kind: "CloudEnvironment",
  plural: "cloudenvironments",
  singular: "cloudenvironment",
  shortNames: ["pce"],
  scope: "Cluster",
  description: "Connects this cluster with a hosted environment.",
  spec: cloudEnvironmentSpec,
  status: cloudEnvironmentStatus,
  rules: [{ rule: "self.metadata.name.size() <= 56", message: "the name must not be longer than 56 characters" }],
  columns: [
    { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
    { name: "Environment", type: "string", jsonPath: ".spec.environmentId" },
    { name: "Region", type: "string", jsonPath: ".spec.region" },
    { name: "Connected", type: "integer", jsonPath: ".status.tunnel.connected" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Reason", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].reason", priority: 1 },
  ],
};
