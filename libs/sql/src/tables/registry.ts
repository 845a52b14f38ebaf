/** Why: what the registry knows, as tables. There are few rows, so no hint is worth its code. */
import type { DeploymentRow, RuleRow, ServiceRow } from "../ports.js";
import { defineTable } from "../table.js";
import { serviceTypeText } from "./invocation-readers.js";

export const deployment = defineTable<DeploymentRow>({
  name: "sys_deployment",
  readers: {
    id: ({ id }) => id,
    ty: ({ address }) => address.kind,
    endpoint: ({ address }) => (address.kind === "http" ? address.uri : address.arn),
    created_at: ({ createdAtMs }) => createdAtMs,
    min_service_protocol_version: ({ minProtocolVersion }) => minProtocolVersion,
    max_service_protocol_version: ({ maxProtocolVersion }) => maxProtocolVersion,
    services: ({ services }) => services.map(({ definition }) => definition.name),
  },
  rows: ({ registry }) => registry.deployments(),
});

export const service = defineTable<{ readonly row: ServiceRow; readonly isPublic: boolean }>({
  name: "sys_service",
  readers: {
    name: ({ row }) => row.revision.definition.name,
    revision: ({ row }) => row.revision.revision,
    public: ({ isPublic }) => isPublic,
    ty: ({ row }) => serviceTypeText(row.revision.definition.kind),
    deployment_id: ({ row }) => row.deployment.id,
  },
  *rows({ registry }) {
    for (const row of registry.services()) yield { row, isPublic: registry.effective(row).public };
  },
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
  rows: ({ registry }) => registry.rules(),
});
