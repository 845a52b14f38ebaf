import { expect, test } from "@jest/globals";
import type { KubernetesClient } from "@perdure/kubernetes";
import { environmentWith } from "../../test/an-environment.js";
import { NODE_LOST_MS } from "../limits.js";
import { goingMessage } from "./namespace-deletion.js";
import { redisProblem } from "./redis-pods.js";

const SIGNAL = new AbortController().signal;
const END = "2026-01-01T00:00:00Z";

function problemAt(nowMs: number, ...pods: readonly object[]) {
  const client = { list: async () => ({ items: pods }) } as unknown as KubernetesClient;
  return redisProblem(environmentWith(), client, nowMs, SIGNAL);
}
const aPod = (name: string, more: object = {}, metadata: object = {}) => ({ metadata: { name, ...metadata }, ...more });
const waiting = (reason: string) => ({ status: { containerStatuses: [{ state: { waiting: { reason, message: "why" } } }] } });

test("a pod whose node does not confirm its end is NodeLost a minute after its grace period, with what to do", async () => {
  const pod = aPod("redis-0", { spec: { nodeName: "node-7" } }, { deletionTimestamp: END });
  expect(await problemAt(Date.parse(END) + NODE_LOST_MS - 1, pod)).toBeUndefined();
  const lost = await problemAt(Date.parse(END) + NODE_LOST_MS, pod);
  expect(lost?.observation).toMatchObject({ type: "StorageReady", status: "False", reason: "NodeLost" });
  expect(lost?.observation.message).toMatch(/^redis-0: .*node-7 does not confirm/);
  expect(lost?.observation.message).toContain(
    "kubectl taint nodes node-7 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
  );
});

test("what keeps a pod from starting is named, of the first one that has something", async () => {
  const problem = await problemAt(
    0,
    aPod("redis-2", waiting("CrashLoopBackOff")),
    aPod("redis-0"),
    aPod("redis-1", waiting("ErrImagePull")),
  );
  expect(problem?.observation).toMatchObject({ reason: "ImagePull", message: "redis-1: ErrImagePull why" });
  expect(await problemAt(0, aPod("redis-0"))).toBeUndefined();
});

test("a namespace whose deletion does not end reports the cause in Kubernetes' own sentence", () => {
  const of = (conditions?: readonly object[]) =>
    goingMessage({ apiVersion: "v1", kind: "Namespace", metadata: { name: "env-1" }, status: { conditions } } as never);
  expect(of()).toBe("namespace env-1 is going");
  const message = "Some content in the namespace has finalizers remaining: example.org/held in 1 resource instances";
  expect(
    of([
      { type: "NamespaceContentRemaining", status: "True", message: "Some resources are remaining" },
      { type: "NamespaceDeletionContentFailure", status: "False", message: "All content successfully deleted" },
      { type: "NamespaceFinalizersRemaining", status: "True", message },
    ]),
  ).toBe(`namespace env-1 is going; ${message}`);
});
