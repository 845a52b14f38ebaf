import { describe, expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { adminGuard, ingressGuard } from "./runtime-guard.js";

const secret = new Secret("a-secret-of-some-length");
const shown = { "x-perdure-runtime-secret": secret.reveal() };

test("a server that is not a runtime is not guarded", () => {
  expect(ingressGuard({ secret: undefined, isSuspended: false })).toBeUndefined();
  expect(adminGuard({ secret: undefined, isSuspended: false })).toBeUndefined();
});

describe("with a secret", () => {
  const guard = ingressGuard({ secret, isSuspended: false });
  test.each([{}, { "x-perdure-runtime-secret": "another" }, { "x-perdure-runtime-secret": "" }])("%o is 401", (headers) => {
    expect(guard?.refusal("POST", "/Greeter/greet", headers)).toMatchObject({ status: 401 });
  });
  test("requests with the secret are served, and handlers never receive it", () => {
    expect(guard?.refusal("POST", "/Greeter/greet", shown)).toBeUndefined();
    expect(guard?.hidden).toContain("x-perdure-runtime-secret");
  });
});

describe("suspended", () => {
  const guard = adminGuard({ secret, isSuspended: true });
  test.each([
    ["GET", "/deployments?x=1"],
    ["HEAD", "/v3/services"],
    ["POST", "/query"],
    ["POST", "/v4/query?x"],
  ])("%s %s is a read", (method, target) => {
    expect(guard?.refusal(method, target, shown)).toBeUndefined();
  });
  test.each([
    ["POST", "/deployments"],
    ["DELETE", "/invocations/x"],
    ["POST", "/v5/query"],
    ["POST", "/query/x"],
  ])("%s %s is a write", (method, target) => {
    const refusal = guard?.refusal(method, target, shown);
    expect(refusal?.status).toBe(403);
    expect(JSON.parse(refusal?.body ?? "")).toMatchObject({ code: 403, restate_code: "PERD0110" });
  });
  test("nothing is called, and requests without the secret do not even learn that", () => {
    const ingress = ingressGuard({ secret, isSuspended: true });
    expect(ingress?.refusal("POST", "/Greeter/greet", shown)?.status).toBe(403);
    expect(ingress?.refusal("GET", "/restate/health", shown)).toBeUndefined();
    expect(ingress?.refusal("POST", "/Greeter/greet", {})?.status).toBe(401);
  });
});
