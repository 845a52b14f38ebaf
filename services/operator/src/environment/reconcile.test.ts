import { expect, test } from "@jest/globals";
import type { KubeObject } from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import type { EnvironmentReconcilePorts } from "./ports.js";
import { reconcileEnvironment } from "./reconcile.js";

test("an operator reports the status of exactly the reconciled object: a later one of its name has no data yet", async () => {
  const environment = environmentWith({ region: "elsewhere" }, { uid: "this-one", resourceVersion: "7" });
  const written: KubeObject[] = [];
  const ports = {
    client: {
      apply: async (object: KubeObject) => {
        written.push(object);
        return object;
      },
    },
    caches: { environments: { get: () => environment }, statefulSets: { get: () => undefined } },
    writes: { fresh: () => environment, note: () => {} },
    cell,
    clock: new VirtualClock(),
    metrics: { readiness: { record: () => {} } },
    events: { record: async () => {} },
    definitions: { outdated: () => [] },
    secretCopies: { noteProblem: () => {} },
    statusPacing: { holdMs: () => undefined, noteWritten: () => {} },
  } as unknown as EnvironmentReconcilePorts;
  await reconcileEnvironment(environment.metadata.name, ports, new AbortController().signal);
  expect(written).toMatchObject([
    {
      metadata: { name: environment.metadata.name, uid: "this-one" },
      status: { conditions: [{ reason: "WrongRegion" }, {}, {}] },
    },
  ]);
});
