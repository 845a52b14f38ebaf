import { expect, test } from "@jest/globals";
import type { KubeObject } from "@perdure/kubernetes";
import { parsed, parseQuota, parseSecret, parseVolumeClaim, parseWorkload } from "./observed-objects.js";

const metadata = { name: "worker", namespace: "env-1", generation: 3, labels: { a: "b" }, managedFields: [{ manager: "m" }] };
const workload = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata,
  spec: { replicas: 2, template: { spec: { containers: [] } }, volumeClaimTemplates: [{ spec: { storageClassName: "fast" } }] },
  status: { replicas: 2, readyReplicas: 1, collisionCount: 0 },
};

test("a workload keeps every field that it has, those that the operator does not read among them", () => {
  expect(parseWorkload(workload)).toEqual(workload);
  expect(parseWorkload({ apiVersion: "apps/v1", kind: "Deployment", metadata })).toBeDefined();
});

test("an object with a field of another type is not read", () => {
  expect(parseWorkload({ ...workload, spec: { replicas: "2" } })).toBeUndefined();
  expect(parseWorkload({ ...workload, status: { readyReplicas: -1 } })).toBeUndefined();
  expect(parseWorkload({ ...workload, metadata: { ...metadata, labels: { a: 1 } } })).toBeUndefined();
  const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata };
  expect(parseVolumeClaim({ ...claim, status: { phase: "Bound", capacity: { storage: "1Gi" } } })).toBeDefined();
  expect(parseVolumeClaim({ ...claim, status: { capacity: { storage: 1 } } })).toBeUndefined();
  expect(parseQuota({ ...claim, status: { hard: { pods: 1 } } })).toBeUndefined();
});

test("an absent object and one that cannot be read are not confused", () => {
  const secret: KubeObject = { apiVersion: "v1", kind: "Secret", metadata, data: { key: "dGV4dA==" } };
  expect(parsed(undefined, parseSecret)).toBeUndefined();
  expect(parsed(secret, parseSecret)?.data).toEqual({ key: "dGV4dA==" });
  expect(() => parsed({ ...secret, data: { key: 7 } }, parseSecret)).toThrow("Secret worker has a field that cannot be read");
});
