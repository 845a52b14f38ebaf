/** An environment as an API server returns it: with its defaults, and the fields under test. */
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";

type Spec = EnvironmentResource["spec"];

export const BUNDLED = { mode: "standalone", size: "10Gi", maxMemoryPercent: 70, fsync: "always" } as const;

export function environmentWith(
  changes: Partial<Spec> = {},
  metadata: Partial<EnvironmentResource["metadata"]> = {},
): EnvironmentResource {
  const environmentId = changes.environmentId ?? "env_0123456789";
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "Environment",
    metadata: { name: objectNameOf(environmentId), uid: "uid-1", generation: 1, ...metadata },
    spec: {
      environmentId,
      accountId: "acc_0123456789",
      region: "eu",
      version: "1.4.0",
      channel: "stable",
      size: "small",
      workers: { partitions: 24, drainSeconds: 120, topologySpread: "zone" },
      redis: { bundled: BUNDLED },
      retention: { completedJournal: "24h", idempotency: "24h", workflow: "24h" },
      limits: { maxBodyBytes: 10_485_760, maxJournalEntries: 10_000 },
      network: { egress: { mode: "public" }, disablePolicies: false },
      security: {},
      suspended: false,
      reclaimPolicy: "Retain",
      deletionProtection: true,
      ...changes,
    },
  };
}
