/**
 * Programs accept the settings from the chart: each is started with the arguments and environment of its container, and prints its
 * settings.
 */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "@jest/globals";
import { programBundle } from "@perdure/dev-cluster";
import { runHelm } from "@perdure/servers";
import { type Container, containersIn, render, type ValuesName } from "./release.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;

const bundles = new Map<string, string>();

beforeAll(async () => {
  await runHelm("version");
  for (const program of ["cloud-gateway", "tenancy", "tunnel-relay", "operator"]) {
    bundles.set(program, await programBundle(`services/${program}`));
  }
}, FIRST_MS);

/** Its settings as it prints them. Rejects with what it has against them. */
async function settingsOf({ image, args = [], env }: Container): Promise<string> {
  const references: Readonly<Record<string, string>> = { PERDURE_METADATA__POSTGRES_URL: "postgres://me:hidden@db/perdure" };
  const variables = env.map(({ name, value }) => [name, value ?? references[name] ?? "pod-0"] as const);
  const options = { env: { PATH: process.env["PATH"], ...Object.fromEntries(variables) } };
  const bundle = bundles.get(/\/perdure-([a-z-]+):/.exec(image)?.[1] ?? "") as string;
  return (await promisify(execFile)(process.execPath, [bundle, ...args, "--print-config"], options)).stdout;
}

const EXPECTED_LINES: Readonly<Record<string, readonly string[]>> = {
  gateway: [
    'region = "eu.private" # set by --region',
    'issuer = "https://api.eu.private.example.org:8443"',
    'addresses = ["perdure-tenancy.perdure-system.svc.cluster.example:9090"]',
    'shutdown-timeout = "2m"',
    'forwarding-key-file = "/var/run/perdure/forwarding/keys"',
    'authority-file = "/var/run/perdure/internal-tls/ca.crt"',
    'ranges = ["10.20.0.0/16", "fd00:20::/64"]',
    'header = "forwarded"',
    'tracing-endpoint = "http://collector.observability:4318"',
  ],
  tenancy: [
    'public-url = "https://api.eu.private.example.org:8443"',
    'key-file = "/var/run/perdure/signing-root/keys"',
    'forwarding-key-file = "/var/run/perdure/forwarding/keys"',
    'regions = ["eu.private"]',
    'tunnels = "on"',
    'kind = "kubernetes"',
    'runtime-version = "1.4.0"',
    'ranges = ["10.20.0.0/16", "fd00:20::/64"]',
    'hibernate-after = "30m"',
    'tunnel-proxy-url = "http://perdure-tunnel-relay.perdure-system.svc.cluster.example:9080"',
    'smtp-host = "smtp.example.org"',
    'oidc-issuer = "https://login.example.org"',
    'oidc-allow = ["*.corp.example.org"]',
  ],
  "tunnel-relay": [
    'tunnel-url = "https://tunnel.eu.private.example.org:9090"',
    'proxy-url = "http://perdure-tunnel-relay.perdure-system.svc.cluster.example:9080"',
    "cleartext = true",
    'bind-address = "0.0.0.0"',
    'service = "http://perdure-tunnel-relay-headless.perdure-system.svc.cluster.example:9080"',
    'certificate-file = "/var/run/perdure/public-tls/tls.crt"',
  ],
  operator: [
    'region = "eu.private"',
    'registry = "mirror.example.org:5000/perdure"',
    'pull-secrets = "one,two"',
    '"worker:1.4.0" = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"',
    'tracing-endpoint = "http://collector.observability:4318" # set by PERDURE_RUNTIMES__TRACING_ENDPOINT',
    'collector-cidrs = ["10.9.8.7/32"]',
    "collector-port = 14318",
  ],
  migrate: ['postgres-url = "postgres://me:***@db/perdure"'],
  "check-leftovers": [],
};

test(
  "without certificates tenancy is configured to rely on network policies alone",
  async () => {
    const tenancy = containersIn(await render({ values: "loadbalancer" })).find(({ name }) => name === "tenancy");
    expect(await settingsOf(tenancy as Container)).toContain("allow-cleartext = true");
  },
  TEST_MS,
);

test.each<readonly [ValuesName]>([["everything"], ["loadbalancer"]])(
  "with '%s'",
  async (values) => {
    // One with a command of its own is a script, and reads no settings.
    const containers = containersIn(await render({ values })).filter((container) => container["command"] === undefined);
    expect(containers.length).toBeGreaterThanOrEqual(4);
    for (const container of containers) {
      const settings = await settingsOf(container);
      const expectedLines = values === "everything" ? EXPECTED_LINES[container.name] : [];
      expect(expectedLines).toBeDefined();
      for (const line of expectedLines ?? []) expect(settings).toContain(line);
    }
  },
  TEST_MS,
);
