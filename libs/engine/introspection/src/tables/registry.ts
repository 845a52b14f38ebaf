/** Tables of the registry. They have few rows, so hints would not pay off. */
import type { DeploymentRow, RuleRow, ServiceRow } from "../ports.js";
import { defineTable } from "../table.js";
import { serviceTypeText } from "./invocation-readers.js";

export const deployment = defineTable<DeploymentRow>({
  name: "sys_deployment",
  readers: {
    id: ({ id }) => id,
    ty: ({ kind }) => kind,
    endpoint: ({ endpoint }) => endpoint,
    created_at: ({ createdAtMs }) => createdAtMs,
    min_service_protocol_version: ({ minProtocolVersion }) => minProtocolVersion,
    max_service_protocol_version: ({ maxProtocolVersion }) => maxProtocolVersion,
    services: ({ services }) => services,
  },
  rows: ({ live }) => live.deployments(),
});

export const service = defineTable<ServiceRow>({
  name: "sys_service",
  readers: {
    name: ({ name }) => name,
    revision: ({ revision }) => revision,
    public: ({ isPublic }) => isPublic,
    ty: ({ kind }) => serviceTypeText(kind),
    deployment_id: ({ deploymentId }) => deploymentId,
  },
  rows: ({ live }) => live.services(),
});

export const rules = defineTable<RuleRow>({
  name: "sys_rules",
  readers: {
    pattern: ({ pattern }) => pattern,
    concurrency: ({ concurrency }) => concurrency,
    description: ({ description }) => description,
    disabled: ({ disabled }) => disabled,
    version: ({ version }) => version,
    last_modified: ({ lastModifiedMs }) => lastModifiedMs,
  },
  rows: ({ live }) => live.rules(),
});
