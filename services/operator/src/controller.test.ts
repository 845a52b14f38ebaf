import { expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import { Metrics, Sampler, type SpanRecord, tracedEdge } from "@perdure/telemetry";
import { SeededRandom, VirtualClock } from "@perdure/testkit";
import { Controller, type ReconcileResult } from "./controller.js";
import { operatorMetrics, type ReconciledKind } from "./metrics.js";

/** The spans of one reconcile of `key`. */
async function spansOf(
  kind: ReconciledKind,
  key: string,
  reconcile: () => Promise<ReconcileResult>,
): Promise<readonly SpanRecord[]> {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const spans: SpanRecord[] = [];
  const stop = new AbortController();
  const tracer = { enabled: true, record: (span: SpanRecord) => void spans.push(span) };
  const edge = tracedEdge(
    { tracer, clock, random, logger: silentLogger, sampler: new Sampler({ ratio: 1 }, random) },
    "internal",
  );
  const metrics = operatorMetrics(new Metrics(), () => clock.nowMs());
  const reconcileOnce = async (): Promise<ReconcileResult> => {
    setImmediate(() => stop.abort());
    return reconcile();
  };
  const controller = new Controller(kind, reconcileOnce, { clock, logger: silentLogger, metrics, edge }, { workers: 1 });
  await controller.run([[key, "creation"]], stop.signal);
  return spans;
}

const fine = async (): Promise<ReconcileResult> => ({ kind: "ok" });

test.each<[ReconciledKind, string, Readonly<Record<string, string>>]>([
  ["Environment", "env-0123456789", { "k8s.namespace.name": "env-0123456789" }],
  ["ServiceDeployment", "shop/greeter", { "k8s.namespace.name": "shop" }],
  ["CloudEnvironment", "hosted", {}],
])("a reconcile of %s %s has a span with the namespace alone, where there is one", async (kind, key, place) => {
  const spans = (await spansOf(kind, key, fine)).map(({ name, attributes, error }) => ({ name, attributes, error }));
  const attributes = { ...place, "perdure.reconcile.result": "ok" };
  expect(spans).toEqual([{ name: `reconcile ${kind}`, attributes, error: undefined }]);
});

test("the error of a failed reconcile is the span's error", async () => {
  const spans = await spansOf("ServiceDeployment", "shop/greeter", () => Promise.reject(new Error("a mistake of ours")));
  expect(spans).toMatchObject([
    { attributes: { "k8s.namespace.name": "shop", "perdure.reconcile.result": "error" }, error: "bug" },
  ]);
});
