import { expect, test } from "@jest/globals";
import { Secret } from "@perdure/base";
import { aDesiredRuntime } from "@perdure/cloud/testing";
import { launchOf } from "./launch.js";

test("a runtime gets the addresses of its tunnels, and its token only by a file", () => {
  const desired = aDesiredRuntime();
  const launchWith = (tunnels: { proxyUrl: string; token: Secret } | undefined) =>
    launchOf(
      { ...desired, tunnels },
      { ingressPort: 1, adminPort: 2 },
      { data: "data", signingKey: "key", secret: "secret", tunnelToken: "folder/tunnel-token" } as Parameters<typeof launchOf>[2],
      { path: "main.mjs", configFile: undefined, egress: "guarded", ownDomains: [], tracingEndpoint: undefined },
    );
  const launch = launchWith({ proxyUrl: "http://127.0.0.1:9080", token: new Secret("rt_hidden") });
  expect(launch.args).toContain("--tunnels.proxy-url=http://127.0.0.1:9080");
  expect(launch.args).toContain("--tunnels.token-file=folder/tunnel-token");
  expect(launch.args.join(" ")).not.toContain("rt_hidden");
  // Another token needs another process: it is read when the server starts.
  const other = launchWith({ proxyUrl: "http://127.0.0.1:9080", token: new Secret("rt_other") });
  expect(other.fingerprint).not.toBe(launch.fingerprint);
  expect(launchWith(undefined).args.filter((arg) => arg.includes("tunnels"))).toEqual([]);
});

test("T6, T23: a runtime assumes roles in the name of its own environment only, is guarded, and has one thread", () => {
  const desired = aDesiredRuntime();
  const launch = launchOf(
    desired,
    { ingressPort: 1, adminPort: 2 },
    { data: "data", signingKey: "key", secret: "secret" } as Parameters<typeof launchOf>[2],
    { path: "main.mjs", configFile: undefined, egress: "guarded", ownDomains: ["perdure.test"], tracingEndpoint: undefined },
  );
  expect(launch.args).toContain(`--aws-assume-role-external-id=${desired.environmentId}`);
  expect(launch.args).toContain("--egress.policy=guarded");
  expect(launch.args).toContain("--worker.threads=1");
  expect(launch.args).toContain('--egress.own-domains=["perdure.test"]');
});

test("a runtime gets the address of a collector of traces where there is one, from a process of its own", () => {
  const launchWith = (tracingEndpoint: string | undefined) =>
    launchOf(
      aDesiredRuntime(),
      { ingressPort: 1, adminPort: 2 },
      { data: "data", signingKey: "key", secret: "secret" } as Parameters<typeof launchOf>[2],
      { path: "main.mjs", configFile: undefined, egress: "guarded", ownDomains: [], tracingEndpoint },
    );
  const traced = launchWith("http://localhost:4318");
  expect(traced.args).toContain("--tracing-endpoint=http://localhost:4318");
  expect(launchWith(undefined).args.filter((arg) => arg.includes("tracing"))).toEqual([]);
  expect(launchWith(undefined).fingerprint).not.toBe(traced.fingerprint);
});
