import { describe, expect, test } from "@jest/globals";
import { observed } from "@perdure/custom-resources";
import { routableOutcome, storageOutcome, summary, withDeadline, workersOutcome } from "../src/environment/observe.js";
import { bad, good, type StepOutcome } from "../src/environment/outcome.js";
import { versionEdge } from "../src/environment/version-edge.js";
import { BUNDLED, environmentWith } from "./an-environment.js";

const aSet = (requested: number, replicas: number, readyReplicas: number, updatedReplicas = requested, generation = 1) => ({
  metadata: { generation },
  spec: { replicas: requested },
  status: { observedGeneration: 1, replicas, readyReplicas, updatedReplicas },
});

test("workers are ready when as many as requested exist, are ready and have the current template", () => {
  const reasonOf = (set: Parameters<typeof workersOutcome>[0], desired: number | undefined, isCurrent = true): string =>
    workersOutcome(set, { desired, isCurrent, isResting: false }).observation.reason;
  expect(reasonOf(undefined, 1)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 2, 2), 2)).toBe("Ready");
  expect(reasonOf(aSet(2, 2, 1), 2)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 2, 2, 1), 2)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 2, 2, 2, 2), 2)).toBe("RollingOut");
  expect(reasonOf(aSet(2, 3, 3), 1)).toBe("Draining");
  expect(reasonOf(aSet(2, 2, 2), 1)).toBe("Draining");
  expect(reasonOf(aSet(4, 4, 4), undefined)).toBe("Ready");
  // All is well, with workers of the kind before.
  expect(reasonOf(aSet(2, 2, 2), 2, false)).toBe("RollingOut");
});

test("without workers nothing is ready, unless it is to rest", () => {
  const none = (isResting: boolean, desired: number | undefined = 0, replicas = 0) =>
    workersOutcome(aSet(0, replicas, replicas), { desired, isCurrent: true, isResting }).observation;
  expect(none(false)).toMatchObject({ status: "False", reason: "NoWorkers" });
  expect(none(false, undefined)).toMatchObject({ status: "False", reason: "NoWorkers" });
  expect(none(false, 0, 1)).toMatchObject({ status: "False", reason: "Draining" });
  expect(none(true)).toMatchObject({ status: "True" });
});

test("storage and route report what they wait for", () => {
  const external = environmentWith({ redis: { external: { secretRef: { name: "redis", key: "url" } } } });
  const summaryOf = (outcome: ReturnType<typeof storageOutcome>) => [outcome.observation.status, outcome.observation.reason];
  expect(summaryOf(storageOutcome(environmentWith(), undefined))).toEqual(["False", "VolumePending"]);
  expect(summaryOf(storageOutcome(environmentWith(), aSet(3, 3, 2)))).toEqual(["False", "VolumePending"]);
  expect(summaryOf(storageOutcome(environmentWith(), aSet(3, 3, 3)))).toEqual(["True", "Ready"]);
  expect(summaryOf(storageOutcome(external, undefined))).toEqual(["True", "External"]);
  expect(summaryOf(routableOutcome(undefined))).toEqual(["False", "GatewayLag"]);
  expect(summaryOf(routableOutcome(aSet(0, 0, 0)))).toEqual(["False", "GatewayLag"]);
  expect(summaryOf(routableOutcome(aSet(2, 2, 1)))).toEqual(["True", "Ready"]);
});

describe("an environment", () => {
  const NEEDED = ["Accepted", "NamespaceReady", "NetworkIsolated", "StorageReady", "WorkersReady", "Routable"];
  const all = NEEDED.map((type) => good(type, "Fine"));
  const extras = (...given: Parameters<typeof summary>) =>
    summary(...given).flatMap(({ type, status, reason }) => (NEEDED.includes(type) ? [] : [`${type}=${status}/${reason}`]));

  test("is ready when all is well, and else for the first reason that it is not", () => {
    expect(extras(environmentWith(), all)).toEqual(["Ready=True/Ready", "Progressing=False/Complete"]);
    for (const [index, type] of NEEDED.entries()) {
      const broken = all.map((one, at) =>
        at === index ? bad(type, "Broken", "it is") : at > index ? bad(NEEDED[at] ?? "", "Later", "") : one,
      );
      expect(extras(environmentWith(), broken)).toEqual(["Ready=False/Broken", "Progressing=True/Broken"]);
      // The other steps have not run yet.
      expect(extras(environmentWith(), all.slice(0, index))).toEqual(["Ready=False/Pending", "Progressing=True/Pending"]);
    }
  });

  test("reports what is weaker than a user may expect: open egress, and a second that a crash may lose", () => {
    const open = environmentWith({ network: { egress: { mode: "open" }, disablePolicies: false } });
    expect(extras(open, all)).toContain("NetworkPermissive=True/EgressOpen");
    const apart = environmentWith({ network: { egress: { mode: "public" }, disablePolicies: true } });
    const allowed: StepOutcome = { ...bad("NetworkIsolated", "PolicyDisabled", ""), isAllowed: true };
    const without = all.map((one) => (one.observation.type === "NetworkIsolated" ? allowed : one));
    expect(extras(apart, without)).toEqual([
      "Ready=True/Ready",
      "Progressing=False/Complete",
      "NetworkPermissive=True/PoliciesDisabled",
    ]);
    const reduced = environmentWith({ redis: { bundled: { ...BUNDLED, fsync: "everysec" } } });
    expect(extras(reduced, all)).toContain("DurabilityReduced=True/FsyncEverySecond");
    expect(extras(environmentWith(), all).join()).not.toMatch(/NetworkPermissive|DurabilityReduced/);
  });
});

test.each([
  [undefined, "3.2.1", false, "allowed"],
  ["1.4.0", "1.4.9", false, "allowed"],
  ["1.4.0", "1.5.0", false, "allowed"],
  ["1.4.0", "1.6.0", false, "VersionSkip"],
  ["1.4.0", "2.0.0", false, "allowed"],
  ["1.4.0", "2.1.0", false, "VersionSkip"],
  ["1.4.0", "3.0.0", false, "VersionSkip"],
  ["1.4.0", "1.3.0", false, "allowed"],
  ["1.4.0", "1.3.0", true, "Downgrade"],
  ["1.4.0", "1.2.0", false, "Downgrade"],
  ["2.0.0", "1.9.0", false, "Downgrade"],
])("from %s to %s (newer things used: %s): %s", (current, target, usesNewer, expected) => {
  const edge = versionEdge(current, target, usesNewer);
  expect(edge.kind === "allowed" ? "allowed" : edge.reason).toBe(expected);
});

test("a condition's time moves with its status and with nothing else", () => {
  const first = observed(undefined, [{ type: "Ready", status: "False", reason: "A", message: "a" }], {
    generation: 1,
    time: "t1",
  });
  const same = observed(first, [{ type: "Ready", status: "False", reason: "B", message: "b" }], { generation: 2, time: "t2" });
  expect(same).toEqual([expect.objectContaining({ reason: "B", lastTransitionTime: "t1", observedGeneration: 2 })]);
  const other = observed(same, [{ type: "Ready", status: "True", reason: "C", message: "" }], { generation: 2, time: "t3" });
  expect(other[0]?.lastTransitionTime).toBe("t3");
  expect(observed(other, [], { generation: 3, time: "t4" })).toEqual([]);
});

test("a change that takes longer than a quarter of an hour is reported as stuck, until it is done or the spec changes", () => {
  const since = Date.parse("2026-01-01T00:00:00Z");
  const underWay = { type: "Progressing", status: "True", reason: "RollingOut", message: "0 of 1" } as const;
  const before = observed(undefined, [underWay], { generation: 1, time: "2026-01-01T00:00:00Z" });
  const at = (minutes: number, conditions = before, generation = 1) =>
    withDeadline([underWay], conditions, generation, since + minutes * 60_000)[0];
  expect(at(15)).toEqual(underWay);
  const overdue = at(16);
  expect(overdue).toMatchObject({ status: "False", reason: "DeadlineExceeded", message: expect.stringContaining("0 of 1") });
  const previous = observed(before, overdue === undefined ? [] : [overdue], { generation: 1, time: "2026-01-01T00:16:00Z" });
  expect(at(17, previous)).toEqual(overdue);
  expect(at(17, previous, 2)).toEqual(underWay);
});
