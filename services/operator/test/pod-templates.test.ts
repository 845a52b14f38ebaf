/**
 * A newer operator must not replace pods (kubernetes.md §7, 61): templates of pods are compared with recorded ones. A change of them
 * replaces the pods of every environment of every cell, so it must be intended: record again with PERDURE_WRITE_TEMPLATES=1, and mention it
 * in the changelog.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "@jest/globals";
import { type EnvironmentResource, environmentSpec } from "@perdure/custom-resources";
import type { KubeObject } from "@perdure/kubernetes";
import { bundledRedis } from "../src/desired/redis.js";
import { front, workers } from "../src/desired/workers.js";
import { cell } from "./cell.js";

const RECORDED = new URL("./testdata/pod-templates.json", import.meta.url);

/** From minimal and from extensive specs. */
const SPECS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  minimal: { redis: { bundled: {} } },
  much: {
    size: "custom",
    workers: {
      replicas: 3,
      resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "2Gi" } },
      partitions: 48,
      drainSeconds: 60,
      podAnnotations: { "example.org/team": "blue" },
      podLabels: { team: "blue" },
      nodeSelector: { pool: "runtime" },
      tolerations: [{ key: "dedicated", operator: "Exists", effect: "NoSchedule" }],
      priorityClassName: "high",
      topologySpread: "node",
    },
    redis: { bundled: { mode: "replicated", size: "40Gi", storageClassName: "fast", maxMemoryPercent: 60, fsync: "everysec" } },
    retention: { completedJournal: "1h", idempotency: "2h", workflow: "3h" },
    limits: { concurrentInvocations: 50, requestsPerSecond: 60, maxBodyBytes: 1_048_576, maxJournalEntries: 500 },
    security: { trustedCAs: [{ name: "ca", key: "ca.crt" }], serviceAccountAnnotations: { "example.org/role": "r" } },
  },
};

function anEnvironment(spec: Readonly<Record<string, unknown>>): EnvironmentResource {
  const base = { environmentId: "env_0123456789", accountId: "acc_0123456789", region: "eu", version: "1.4.0" };
  return {
    apiVersion: "perdure.dev/v1alpha1",
    kind: "Environment",
    metadata: { name: "env-0123456789", uid: "uid-1", generation: 1 },
    spec: environmentSpec.parse({ ...base, ...spec }),
  };
}

/** Of each object that makes pods. */
function templatesOf(environment: EnvironmentResource): Readonly<Record<string, unknown>> {
  const inputs = { config: "config", secrets: "secrets", replicas: 2 };
  const objects: readonly KubeObject[] = [
    ...workers(environment, cell, inputs),
    ...front(environment, cell, inputs),
    ...bundledRedis(environment, cell, "auth"),
  ];
  const made = objects.flatMap((object) => {
    const template = (object["spec"] as { readonly template?: unknown } | undefined)?.template;
    return template === undefined ? [] : [[`${object.kind}/${object.metadata.name}`, template] as const];
  });
  return JSON.parse(JSON.stringify(Object.fromEntries(made))) as Readonly<Record<string, unknown>>;
}

const now = Object.fromEntries(Object.entries(SPECS).map(([name, spec]) => [name, templatesOf(anEnvironment(spec))]));

test("templates of pods are those that were recorded", () => {
  if (process.env["PERDURE_WRITE_TEMPLATES"] === "1") writeFileSync(RECORDED, `${JSON.stringify(now, undefined, 2)}\n`);
  expect(now).toEqual(JSON.parse(readFileSync(RECORDED, "utf8")));
});

test("what is recorded are pods of workers, of the front and of Redis", () => {
  const names = ["Deployment/front", "StatefulSet/redis", "StatefulSet/worker"];
  for (const templates of Object.values(now)) expect(Object.keys(templates).sort()).toEqual(names);
});
