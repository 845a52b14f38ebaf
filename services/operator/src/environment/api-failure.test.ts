import { beforeEach, expect, test } from "@jest/globals";
import { silentLogger } from "@perdure/base";
import type { Environment } from "@perdure/custom-resources";
import { ApiError, type KubeObject } from "@perdure/driver-kubernetes";
import { VirtualClock } from "@perdure/testkit";
import { environmentWith } from "../../test/an-environment.js";
import { FAILURE_CONDITION, reconcileReporting } from "./api-failure.js";
import type { EnvironmentPorts } from "./reconcile.js";

const READY = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 1,
} as const;
const webhook = (detail: string) =>
  new ApiError(
    "PATCH statefulsets",
    500,
    JSON.stringify({ message: `failed calling webhook "x": ${detail}`, reason: "InternalError" }),
  );

let environment: Environment;
let written: KubeObject[];
let told: string[];
let refusal: Error | undefined;

beforeEach(() => {
  environment = { ...environmentWith(), status: { phase: "Running", conditions: [READY], namespace: "env-0123456789" } };
  [written, told, refusal] = [[], [], undefined];
});

/** One pass that fails of `cause`; resolves with what it rejects with. */
async function failing(cause: unknown): Promise<unknown> {
  const ports = {
    client: {
      apply: async (object: KubeObject) => {
        if (refusal !== undefined) throw refusal;
        written.push(object);
        environment = { ...environment, ...(object as unknown as Pick<Environment, "status">) };
        return object;
      },
    },
    caches: { environments: { get: () => environment } },
    writes: { fresh: () => environment, note: () => {} },
    clock: new VirtualClock(),
    events: { tell: async (_object: unknown, { reason }: { reason: string }) => void told.push(reason) },
    logger: silentLogger,
  } as unknown as EnvironmentPorts;
  const fail = () => Promise.reject(cause);
  return await reconcileReporting("env-0123456789", ports, new AbortController().signal, fail).catch((error: unknown) => error);
}

test("a 5xx of the API server is a condition beside those that are known, with an event, and is thrown on", async () => {
  const cause = webhook("refused");
  expect(await failing(cause)).toBe(cause);
  expect(environment.status).toMatchObject({
    phase: "Running",
    namespace: "env-0123456789",
    conditions: [READY, { type: FAILURE_CONDITION, status: "True", reason: "ApiServerError", message: cause.message }],
  });
  expect(told).toEqual(["ApiServerError"]);
});

test("the same request that fails again writes nothing, another one replaces the condition", async () => {
  await failing(webhook("port 1"));
  await failing(webhook("port 2"));
  expect(written).toHaveLength(1);
  await failing(new ApiError("PATCH services", 503, "overloaded"));
  expect(environment.status?.conditions).toEqual([READY, expect.objectContaining({ message: "PATCH services: 503 overloaded" })]);
});

test("other failures have conditions of their own or none, and a status that cannot be written hides nothing", async () => {
  for (const cause of [new ApiError("GET pods", 429, ""), new Error("a mistake of ours")])
    expect(await failing(cause)).toBe(cause);
  expect(written).toEqual([]);
  refusal = new ApiError("PATCH environments", 500, "");
  const cause = webhook("refused");
  expect(await failing(cause)).toBe(cause);
});
