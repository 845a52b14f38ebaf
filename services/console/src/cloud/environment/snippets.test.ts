import { expect, test } from "@jest/globals";
import type { EnvironmentDescription } from "../cloud-api.js";
import { identityKeys, keyExport, snippetsOf, trustPolicy } from "./snippets.js";

const place = {
  environmentId: "env_201m80erwqbtjtvbgnvfxh7c8nv" as EnvironmentDescription["environmentId"],
  name: "dev",
  region: "us",
  ingressBaseUrl: "https://201m.env.us.perdure.test:8080/",
  adminBaseUrl: "https://201m.env.us.perdure.test:9070",
  signingPublicKey: "publickeyv1_abc",
};
const textOf = (id: string, of = place) => snippetsOf(of, "https://api.us.perdure.test").find((one) => one.id === id)?.text;

test("snippets have this environment's values, and the key by its variable only", () => {
  expect(textOf("curl")).toContain("https://201m.env.us.perdure.test:8080/Greeter/greet");
  expect(textOf("curl")).toContain('"Authorization: Bearer $PERDURE_API_KEY"');
  expect(textOf("register")).toContain("https://201m.env.us.perdure.test:9070/deployments");
  expect(textOf("typescript")).toContain('url: "https://201m.env.us.perdure.test:8080"');
  expect(textOf("perdure")).toContain("PERDURE_API_URL=https://api.us.perdure.test");
  expect(textOf("kubernetes")).toContain("environmentId: env_201m80erwqbtjtvbgnvfxh7c8nv");
  expect(textOf("kubernetes", { ...place, name: "-x-" })).toContain("name: x-key");
});

test("the official command line gets a host where ports are the usual ones, and URLs elsewhere", () => {
  expect(textOf("restate")).toContain("RESTATE_HOST=201m.env.us.perdure.test\nexport RESTATE_HOST_SCHEME=https\n");
  const local = { ...place, ingressBaseUrl: "http://localhost:17709", adminBaseUrl: "http://localhost:17710" };
  expect(textOf("restate", local)).toContain("RESTATE_INGRESS_URL=http://localhost:17709");
  expect(textOf("restate", local)).not.toContain("RESTATE_HOST=");
});

test("a role is assumed by our principal alone, and for this environment alone", () => {
  const principal = "arn:aws:iam::123456789012:role/PerdureCloud-us";
  const policy = JSON.parse(trustPolicy({ lambdaPrincipalArn: principal, lambdaExternalId: "env_1" }) ?? "");
  expect(policy.Statement).toEqual([
    {
      Effect: "Allow",
      Principal: { AWS: "arn:aws:iam::123456789012:root" },
      Action: "sts:AssumeRole",
      Condition: { StringEquals: { "sts:ExternalId": "env_1", "aws:PrincipalArn": principal } },
    },
    { Effect: "Allow", Principal: { AWS: "arn:aws:iam::123456789012:root" }, Action: "sts:TagSession" },
  ]);
  expect(trustPolicy({ lambdaExternalId: "env_1" })).toBeUndefined();
});

test("services accept both keys of a rotation", () => {
  expect(identityKeys(["publickeyv1_a", "publickeyv1_b"])).toContain('["publickeyv1_a", "publickeyv1_b"]');
  expect(keyExport("key_a.b")).toBe("export PERDURE_API_KEY='key_a.b'");
});
