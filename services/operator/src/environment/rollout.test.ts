import { describe, expect, test } from "@jest/globals";
import type { KubernetesClient } from "@perdure/kubernetes";
import { environmentWith } from "../../test/an-environment.js";
import { TEMPLATE_HASH } from "../desired/workers.js";
import type { Workload } from "../observed-objects.js";
import { nextPartition, problemOutcome } from "./rollout.js";
import { type WorkerPod, workerPods } from "./worker-pods.js";

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

interface SetCase {
  readonly hash: string;
  readonly isObserved?: boolean;
  readonly updated?: number;
  readonly revision?: string;
  readonly replicas?: number;
}

const aSet = ({ hash, isObserved = true, updated = 0, revision = "new", replicas = 3 }: SetCase): Workload => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "worker", generation: 2, annotations: { [TEMPLATE_HASH]: hash } },
  spec: { replicas, updateStrategy: { rollingUpdate: { partition: replicas } } },
  status: {
    observedGeneration: isObserved ? 2 : 1,
    currentRevision: "old",
    updateRevision: revision,
    replicas,
    updatedReplicas: updated,
  },
});

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
])("with pods %s those from %i on may be new", async (text, partition) => {
  expect(await nextPartition(aSet({ hash: "a", replicas: 4 }), "a", async () => pods(text))).toBe(partition);
});

test("the highest failing pod is reported, and ready pods count as healthy", () => {
  const environment = environmentWith();
  expect(problemOutcome(environment, pods("ooNN"), 2)?.observation).toMatchObject({
    reason: "CrashLoop",
    message: expect.stringMatching(/^worker-3 .*; workers below 2 stay/),
  });
  expect(problemOutcome(environment, pods("ooOn"), 2)).toBeUndefined();
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
])("a pod that reports %j has a problem: %s", async (status, reason) => {
  const list = async () => ({ items: ["redis-0", "worker-12"].map((name) => ({ metadata: { name }, status })) });
  const client = { list } as unknown as KubernetesClient;
  const [pod, ...others] = await workerPods(environmentWith(), client, new AbortController().signal);
  expect(others).toEqual([]);
  expect([pod?.ordinal, pod?.problem?.reason]).toEqual([12, reason]);
});
