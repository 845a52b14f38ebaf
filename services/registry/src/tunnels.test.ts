import { describe, expect, test } from "@jest/globals";
import type { BareEnvironmentId } from "@perdure/cloud";
import { createEgressGuard } from "@perdure/egress";
import { type RegisterRequest, RegistryRefusal } from "@perdure/metadata";
import { TunnelRoutes } from "@perdure/tunnel";
import type { DiscoveryFetcher } from "./ports.js";
import type { RegistryRole } from "./registry.js";
import { aRegisterRequest, createTestRegistry } from "./testing/index.js";

const BARE = "201k0yd4rz8yftmd4awh1bajg4v" as BareEnvironmentId;
const OTHER = "201k0yd4rz8yftmd4awh1bajg4w";
const PROXY = "https://tunnel.us.perdure.example:9080";
const tunnels = new TunnelRoutes({ bare: BARE, proxyUrl: "http://10.0.0.1:9080", publicUrl: PROXY });
const guard = createEgressGuard(
  { allowPlainHttp: false, ownDomains: ["perdure.example"], ownRanges: [], allowances: [] },
  { resolve: (_name, done) => done(new Error("no name is looked up"), []), onDenied() {} },
);

const MANIFEST = {
  protocolMode: "BIDI_STREAM",
  minProtocolVersion: 5,
  maxProtocolVersion: 6,
  services: [{ name: "Greeter", ty: "SERVICE", handlers: [{ name: "greet" }] }],
};

function aRegistry(set: { tunnels?: TunnelRoutes; guard?: typeof guard }): {
  registry: Promise<RegistryRole>;
  requestedUris: string[];
} {
  const requestedUris: string[] = [];
  const fetcher: DiscoveryFetcher = {
    async fetch({ target }) {
      requestedUris.push(target.kind === "http" ? target.uri : target.arn);
      const headers = { "content-type": "application/vnd.restate.endpointmanifest.v3+json" };
      return { kind: "response", status: 200, headers, body: Buffer.from(JSON.stringify(MANIFEST)), httpVersion: "HTTP/2.0" };
    },
  };
  return { registry: createTestRegistry({ fetcher, ...set }), requestedUris };
}

const register = async (registry: Promise<RegistryRole>, request: RegisterRequest) =>
  await (await registry).register(request, new AbortController().signal);

async function refusalOf(registry: Promise<RegistryRole>, request: RegisterRequest): Promise<RegistryRefusal> {
  const outcome = await register(registry, request).catch((cause: unknown) => cause);
  if (!(outcome instanceof RegistryRefusal)) throw new Error("not refused", { cause: outcome });
  return outcome;
}

describe("an address behind a tunnel", () => {
  test.each(["tunnel://t:9080", `${PROXY}/${BARE}/t/http/localhost/9080/`])(
    "%s is requested, also by a guarded registry, and stored as given",
    async (uri) => {
      const { registry, requestedUris } = aRegistry({ tunnels, guard });
      const { deployment } = await register(registry, aRegisterRequest(uri));
      expect(requestedUris).toEqual([uri.endsWith("/") ? uri : `${uri}/`]);
      expect(deployment.address).toMatchObject({ kind: "http", uri: requestedUris[0] });
    },
  );

  test("is one destination in both of its forms: META0004, and META0017 when there are two", async () => {
    const { registry } = aRegistry({ tunnels });
    const first = await register(registry, aRegisterRequest("tunnel://t:9080"));
    const long = `${PROXY}/${BARE}/t/http/localhost/9080/`;
    expect(await refusalOf(registry, aRegisterRequest(long))).toMatchObject({ status: 409, code: "META0004" });
    const replaced = await register(registry, aRegisterRequest(long, { force: true }));
    expect(replaced).toMatchObject({ kind: "replaced", deployment: { id: first.deployment.id } });
    const other = await register(registry, aRegisterRequest("tunnel://u:9080", { force: true }));
    const address = { kind: "http", uri: "tunnel://t:9080", useHttp11: false } as const;
    const change = { address, additionalHeaders: undefined, overwrite: false, dryRun: false };
    await (await registry).update(other.deployment.id, change, new AbortController().signal);
    expect(await refusalOf(registry, aRegisterRequest(long, { force: true }))).toMatchObject({ status: 409, code: "META0017" });
  });

  test.each([
    `${PROXY}/${OTHER}/t/http/localhost/9080/`,
    `${PROXY}/${BARE}/t/_/drain-tunnel`,
    `http://10.0.0.1:9080/${OTHER}/t/http/x/1/`,
  ])("T7: %s is another environment's, and no request is sent", async (uri) => {
    const { registry, requestedUris } = aRegistry({ tunnels });
    expect(await refusalOf(registry, aRegisterRequest(uri))).toMatchObject({
      status: 400,
      code: "META0003",
      message: expect.stringContaining("tunnel belongs to another environment"),
    });
    expect(requestedUris).toEqual([]);
  });

  test("is refused with the reason by a server without tunnels", async () => {
    const { registry, requestedUris } = aRegistry({});
    expect(await refusalOf(registry, aRegisterRequest("tunnel://t:9080"))).toMatchObject({
      status: 400,
      code: "META0003",
      message: expect.stringContaining("this server has no tunnels"),
    });
    expect(requestedUris).toEqual([]);
  });
});
