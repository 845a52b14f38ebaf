/** Defines the custom resources of Kubernetes (Environment, ServiceDeployment and CloudEnvironment): types, rules and definitions. */
import { cloudEnvironmentKind } from "./cloud-environment.js";
import { type CustomResourceDefinition, definitionOf } from "./definition.js";
import { environmentKind } from "./environment.js";
import { serviceDeploymentKind } from "./service-deployment.js";

export * from "./cloud-environment.js";
export * from "./conditions.js";
export type { CustomResourceDefinition, KindSource } from "./definition.js";
export { definitionOf } from "./definition.js";
export * from "./environment.js";
export * from "./names.js";
export * from "./object.js";
export { secondsOf } from "./schema.js";
export * from "./service-deployment.js";

/** All definitions, as they are sent to an API server. */
export const definitions: readonly CustomResourceDefinition[] = [
  environmentKind,
  serviceDeploymentKind,
  cloudEnvironmentKind,
].map(definitionOf);
