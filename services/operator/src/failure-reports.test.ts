import { beforeEach, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, KubernetesApiError } from "@perdure/kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../test/an-environment.js";
import { type FailureReportPorts, type ReportedKind, reportingFailures } from "./failure-reports.js";
import { SLOW_ANSWER_MS, SLOW_WRITE_POLL_MS } from "./limits.js";

const READY = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 1,
} as const;
const webhook = (detail: string) =>
  new KubernetesApiError(
    "PATCH statefulsets",
    500,
    JSON.stringify({ message: `failed calling webhook "x": ${detail}`, reason: "InternalError" }),
  );

let environment: EnvironmentResource;
let written: KubeObject[];
let reasons: string[];
let refusal: Error | undefined;

beforeEach(() => {
  environment = { ...environmentWith(), status: { phase: "Running", conditions: [READY], namespace: "env-0123456789" } };
  [written, reasons, refusal] = [[], [], undefined];
});

const KIND: ReportedKind = {
  current: () => environment as unknown as KubeObject,
  firstStatus: { phase: "Pending" },
  onWritten: (object) => {
    environment = { ...environment, ...(object as unknown as Pick<EnvironmentResource, "status">) };
  },
};

const clock = new VirtualClock();

/** One pass that does this; resolves with what it rejects with. */
async function passing(
  pass: () => Promise<never>,
  pending?: { readonly operation: string; readonly forMs: number },
): Promise<unknown> {
  const ports = {
    client: {
      pendingWrite: () => pending,
      apply: async (object: KubeObject) => {
        if (refusal !== undefined) throw refusal;
        written.push(object);
        return object;
      },
    },
    clock,
    events: { record: async (_object: unknown, { reason }: { reason: string }) => void reasons.push(reason) },
    logger: silentLogger,
  } as unknown as FailureReportPorts;
  const { signal } = new AbortController();
  return await reportingFailures("env-0123456789", KIND, ports, signal, pass).catch((error: unknown) => error);
}

const failing = (cause: unknown): Promise<unknown> => passing(() => Promise.reject(cause));

test("a 5xx of the API server adds a condition to the existing ones, with an event, and is rethrown", async () => {
  const cause = webhook("refused");
  expect(await failing(cause)).toBe(cause);
  expect(environment.status).toMatchObject({
    phase: "Running",
    namespace: "env-0123456789",
    conditions: [READY, { type: "ReconcileFailed", status: "True", reason: "ApiServerError", message: cause.message }],
  });
  expect(reasons).toEqual(["ApiServerError"]);
});

test("the same request that fails again writes nothing, another one replaces the condition", async () => {
  await failing(webhook("port 1"));
  await failing(webhook("port 2"));
  expect(written).toHaveLength(1);
  await failing(new KubernetesApiError("PATCH services", 503, "overloaded"));
  expect(environment.status?.conditions).toEqual([READY, expect.objectContaining({ message: "PATCH services: 503 overloaded" })]);
});

test("other failures have conditions of their own or none, and a status that cannot be written hides nothing", async () => {
  for (const cause of [new KubernetesApiError("GET pods", 429, ""), new Error("a mistake of ours")])
    expect(await failing(cause)).toBe(cause);
  expect(written).toEqual([]);
  refusal = new KubernetesApiError("PATCH environments", 500, "");
  const cause = webhook("refused");
  expect(await failing(cause)).toBe(cause);
});

test("a refusal that breaks a pass off is a condition, too", async () => {
  await failing(new KubernetesApiError("patch environments", 403, JSON.stringify({ message: "the webhook denied the request" })));
  expect(environment.status?.conditions?.[1]).toMatchObject({
    reason: "Forbidden",
    message: "patch environments: 403 the webhook denied the request",
  });
});

test("a write without a response is reported while it continues, once, and never instead of an existing failure", async () => {
  const slow = { operation: "patch statefulsets", forMs: SLOW_ANSWER_MS };
  const waiting = async (): Promise<never> => {
    for (let ms = 0; ms < 3 * SLOW_WRITE_POLL_MS; ms += SLOW_WRITE_POLL_MS) {
      clock.advanceBy(SLOW_WRITE_POLL_MS);
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error("broken off");
  };
  await passing(waiting, { ...slow, forMs: SLOW_ANSWER_MS - 1 });
  expect(written).toEqual([]);
  await passing(waiting, slow);
  const [, condition] = environment.status?.conditions ?? [];
  expect(condition).toMatchObject({ type: "ReconcileFailed", status: "True", reason: "ApiServerSlow" });
  expect(condition?.message).toContain("patch statefulsets: no response for 3 s");
  expect(reasons).toEqual(["ApiServerSlow"]);
  await failing(webhook("deadline exceeded"));
  await passing(waiting, slow);
  expect(environment.status?.conditions?.[1]).toMatchObject({ reason: "ApiServerError" });
  expect(written).toHaveLength(2);
  expect(clock.pendingTimers).toBe(0);
});
