import { expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import { environmentOf, signingKeyOf, tunnelTokenOf } from "./desired-environment.js";

const template = { version: "1.4.0", size: "small", hibernateAfterSeconds: 0 } as const;

test("a plan's limits are the environment's, within what its definition allows", () => {
  const { limits } = aDesiredRuntime();
  const desired = aDesiredRuntime({ generation: 7, limits: { ...limits, bodyBytesMax: 2 ** 40, retentionMsMax: 3_600_000 } });
  expect(environmentOf(desired, template)).toMatchObject({
    metadata: { name: desired.environmentId.replace("_", "-"), annotations: { "perdure.dev/wish": "7" } },
    spec: {
      environmentId: desired.environmentId,
      accountId: desired.accountId,
      region: desired.region,
      version: "1.4.0",
      suspended: false,
      retention: { completedJournal: "3600s", idempotency: "3600s", workflow: "3600s" },
      limits: { concurrentInvocations: 100, requestsPerSecond: 20, maxBodyBytes: 64 * 1024 * 1024 },
      reclaimPolicy: "Retain",
      deletionProtection: true,
    },
  });
});

test("so are its bounds on what may be registered and how long anything is kept", () => {
  const { limits } = aDesiredRuntime();
  const desired = aDesiredRuntime({
    limits: { ...limits, deploymentsMax: 5, servicesMax: 2 ** 40, subscriptionsMax: 0, retentionMsMax: 200 * 86_400_000 },
  });
  expect(environmentOf(desired, template)["spec"]).toMatchObject({
    limits: { deployments: 5, services: 1_000_000, subscriptions: 0, maxRetention: "4800h" },
  });
  const forEver = aDesiredRuntime({ limits: { ...limits, retentionMsMax: 2 ** 50 } });
  expect(environmentOf(forEver, template)["spec"]).toMatchObject({ limits: { maxRetention: "8760h" } });
});

test("the key lies beside the operator, and the environment only names it", () => {
  const desired = aDesiredRuntime();
  const secret = signingKeyOf(desired, "system") as unknown as { readonly data: Readonly<Record<string, string>> };
  expect(Buffer.from(secret.data["current.pem"] ?? "", "base64").toString()).toBe(desired.signingKeyPem.reveal());
  const environment = JSON.stringify(environmentOf(desired, template));
  expect(environment).not.toContain("PRIVATE");
  expect(environment).toContain(`"secretRef":{"name":"signing-key-${desired.environmentId.slice(4)}","key":"current.pem"}`);
});

test("so does the token for its tunnels, where the cell has some", () => {
  const desired = aDesiredRuntime({ tunnels: { proxyUrl: "http://relay.example:9080", token: new Secret("rt_secret") } });
  const bare = desired.environmentId.slice(4);
  expect(tunnelTokenOf(desired, "system")).toMatchObject({
    metadata: { name: `tunnel-token-${bare}`, namespace: "system" },
    data: { token: Buffer.from("rt_secret").toString("base64") },
  });
  const environment = environmentOf(desired, template);
  expect(environment["spec"]).toMatchObject({
    tunnels: { proxyUrl: "http://relay.example:9080", tokenSecretRef: { name: `tunnel-token-${bare}`, key: "token" } },
  });
  expect(JSON.stringify(environment)).not.toContain("rt_secret");
  expect(tunnelTokenOf(aDesiredRuntime(), "system")).toBeUndefined();
  expect(environmentOf(aDesiredRuntime(), template)["spec"]).not.toHaveProperty("tunnels");
});

test("idle processes hibernate only where the cell is configured so, and suspended ones do not run", () => {
  expect(environmentOf(aDesiredRuntime(), template)["spec"]).not.toHaveProperty("hibernation");
  const sleepy = environmentOf(aDesiredRuntime({ mode: "suspended" }), { ...template, hibernateAfterSeconds: 600 });
  expect(sleepy["spec"]).toMatchObject({ hibernation: { afterIdle: "600s" }, suspended: true });
});
