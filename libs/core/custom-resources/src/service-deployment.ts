/**
 * The `ServiceDeployment` resource: user code in a cluster, with one registered deployment for each version of its pod template; older ones
 * stay until nothing runs on them (kubernetes.md §1.2).
 */
import { z } from "zod";
import { conditions } from "./conditions.js";
import type { KindSource } from "./definition.js";
import { type CustomResource, isResource } from "./object.js";
import { environmentId, immutable, labelSelector, list, name, passThrough, text, withRules } from "./schema.js";

const KINDS_OF_REGISTER = ["environment", "cloudEnvironment", "service", "url"];

const register = withRules(
  z.strictObject({
    environment: environmentId().optional(),
    cloudEnvironment: name(56).optional(),
    service: z
      .strictObject({
        namespace: name(63),
        name: name(63),
        port: z.int().min(1).max(65_535).default(9070),
        path: text(512).default("/"),
      })
      .optional(),
    url: text(2048)
      .regex(/^https?:\/\//)
      .optional(),
  }),
  {
    rule: `[${KINDS_OF_REGISTER.map((kind) => `has(self.${kind})`).join(", ")}].filter(given, given).size() == 1`,
    message: `exactly one of ${KINDS_OF_REGISTER.join(", ")} must be given`,
  },
);

const perdure = withRules(
  z.strictObject({
    register,
    servicePath: text(512).regex(/^\//).default("/"),
    protocol: z.enum(["auto", "http1", "h2c"]).default("auto"),
    tunnelMode: z.enum(["external", "in-process"]).default("external"),
    drainDelaySeconds: z.int().min(0).max(604_800).default(300).describe("How long a version without invocations is kept."),
    maxDrainSeconds: z
      .int()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe("When draining longer is reported; nothing is ended by force."),
    breakingChanges: z.enum(["refuse", "allow"]).default("refuse"),
  }),
  {
    rule: "self.tunnelMode != 'in-process' || has(self.register.cloudEnvironment)",
    message: "tunnelMode in-process needs register.cloudEnvironment",
  },
);

export const serviceDeploymentSpec = z.strictObject({
  replicas: z.int().min(0).max(1000).default(1).describe("Of the latest version."),
  selector: withRules(labelSelector(), immutable("selector")),
  template: passThrough().describe("A pod template."),
  minReadySeconds: z.int().min(0).max(3600).default(0),
  revisionHistoryLimit: z.int().min(0).max(100).default(10),
  perdure,
  drainAutoscaling: z
    .strictObject({
      minReplicas: z.int().min(1).max(1000).default(1),
      maxReplicas: z.int().min(1).max(1000),
      metrics: list(passThrough(), 16).optional(),
      behavior: passThrough().optional(),
    })
    .optional()
    .describe("For each version that drains; its target is the version's."),
});

const count = () => z.int().min(0).max(1_000_000).optional();

const serviceDeploymentStatus = z.strictObject({
  observedGeneration: z.int().min(0).optional(),
  replicas: count(),
  updatedReplicas: count(),
  readyReplicas: count(),
  availableReplicas: count(),
  drainingVersions: count(),
  labelSelector: text(1000).optional().describe("Of the latest version alone."),
  deploymentId: text(64).optional(),
  collisionCount: count(),
  versions: list(
    z.strictObject({
      hash: text(64),
      deploymentId: text(64).optional(),
      state: z.enum(["Latest", "Draining", "Idle", "Retired"]),
      replicas: count(),
      activeInvocations: count(),
      removeAfter: z.string().meta({ format: "date-time" }).optional(),
    }),
    20,
  ).optional(),
  conditions: conditions(),
});

export type ServiceDeploymentSpec = z.output<typeof serviceDeploymentSpec>;
export type ServiceDeploymentStatus = z.output<typeof serviceDeploymentStatus>;
export type ServiceDeployment = CustomResource<"ServiceDeployment", ServiceDeploymentSpec, ServiceDeploymentStatus>;

const isServiceDeployment = (object: unknown): object is ServiceDeployment => isResource(object, "ServiceDeployment");
/** Undefined when the object is not an `ServiceDeployment` (see `isResource`). */
export const parseServiceDeployment = (object: unknown): ServiceDeployment | undefined =>
  isServiceDeployment(object) ? object : undefined;

export const serviceDeploymentKind: KindSource = {
  kind: "ServiceDeployment",
  plural: "servicedeployments",
  singular: "servicedeployment",
  shortNames: ["psd"],
  scope: "Namespaced",
  description: "Services of a user: pods, registered as one deployment for each version of their template.",
  spec: serviceDeploymentSpec,
  status: serviceDeploymentStatus,
  rules: [],
  columns: [
    { name: "Desired", type: "integer", jsonPath: ".spec.replicas" },
    { name: "Up-To-Date", type: "integer", jsonPath: ".status.updatedReplicas" },
    { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
    { name: "Available", type: "integer", jsonPath: ".status.availableReplicas" },
    { name: "Draining", type: "integer", jsonPath: ".status.drainingVersions" },
    { name: "Deployment ID", type: "string", jsonPath: ".status.deploymentId" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.labelSelector",
  },
};
