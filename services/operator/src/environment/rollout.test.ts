import { describe, expect, test } from "@jest/globals";
import { TEMPLATE_HASH } from "../desired/workers.js";
import type { Workload } from "../observed-objects.js";
import { firstProblemOf, nextPartition, partitionOf } from "./rollout.js";
import { type WorkerPod, workerPodOf } from "./worker-pods.js";

/** `n` new and ready, `N` new and not, `o` old and ready, `O` old and not; by ordinal. */
function pods(text: string): WorkerPod[] {
  return [...text].map((kind, ordinal) => ({
    ordinal,
    address: undefined,
    isReady: kind === kind.toLowerCase(),
    isEnding: false,
    revision: kind.toLowerCase() === "n" ? "new" : "old",
    problem: kind === "N" ? { reason: "CrashLoop" as const, message: "CrashLoopBackOff" } : undefined,
  }));
}

test.each([
  ["oooo", 3],
  ["oooN", 3],
  ["ooon", 2],
  ["oonn", 1],
  ["oNnn", 1],
  ["onnn", 0],
  ["Onnn", 0],
  ["nnnn", 0],
  ["ooOn", 2],
])("with pods %s those from %i on may be new", (text, partition) => {
  expect(partitionOf(4, "new", pods(text))).toBe(partition);
});

test("the highest failing pod is reported, and ready pods count as healthy", () => {
  expect(firstProblemOf(pods("ooNN"))).toMatchObject({ ordinal: 3, reason: "CrashLoop" });
  expect(firstProblemOf(pods("ooOn"))).toBeUndefined();
});

interface SetCase {
  readonly hash: string;
  readonly isObserved?: boolean;
  readonly updated?: number;
  readonly revision?: string;
}

const aSet = ({ hash, isObserved = true, updated = 0, revision = "new" }: SetCase): Workload => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "worker", generation: 2, annotations: { [TEMPLATE_HASH]: hash } },
  spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 3 } } },
  status: {
    observedGeneration: isObserved ? 2 : 1,
    currentRevision: "old",
    updateRevision: revision,
    replicas: 3,
    updatedReplicas: updated,
  },
});

describe("a StatefulSet", () => {
  const noPods = (): never => {
    throw new Error("pods must not be requested");
  };
  test("that is new replaces no pod, and one that is complete allows the new template on all", async () => {
    expect(await nextPartition(undefined, "a", noPods)).toBe(0);
    expect(await nextPartition(aSet({ hash: "a", updated: 3, revision: "old" }), "a", noPods)).toBe(0);
  });
  test("with another template replaces no pod yet, until it is known which pods have it", async () => {
    expect(await nextPartition(aSet({ hash: "a" }), "b", noPods)).toBe(3);
    expect(await nextPartition(aSet({ hash: "b", isObserved: false }), "b", noPods)).toBe(3);
  });
  test("then continues from the highest ordinal", async () => {
    expect(await nextPartition(aSet({ hash: "b" }), "b", async () => pods("ooo"))).toBe(2);
    expect(await nextPartition(aSet({ hash: "b", updated: 1 }), "b", async () => pods("oon"))).toBe(1);
  });
});

test.each([
  [{ containerStatuses: [{ state: { waiting: { reason: "CrashLoopBackOff", message: "back-off" } } }] }, "CrashLoop"],
  [{ containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff" } } }] }, "ImagePull"],
  [{ containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }] }, undefined],
  [{ conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" }] }, "Unschedulable"],
  [{}, undefined],
])("a pod that reports %j has a problem: %s", (status, reason) => {
  const pod = workerPodOf({ apiVersion: "v1", kind: "Pod", metadata: { name: "worker-12" }, status });
  expect([pod?.ordinal, pod?.problem?.reason]).toEqual([12, reason]);
});
