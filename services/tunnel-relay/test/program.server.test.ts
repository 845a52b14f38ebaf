/** The program itself, over TLS and gRPC, as it is deployed. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { bareOf } from "@perdure/cloud";
import { MemoryTenancy } from "@perdure/cloud/testing";
import { openGrpcListener } from "@perdure/cluster-kit";
import { eventually } from "@perdure/conformance";
import { ServiceProgram } from "@perdure/dev-cluster";
import { exchangeWhole } from "@perdure/endpoint-transport";
import { tenancyDefinition, tenancyHandlers } from "@perdure/grpc";
import { createHttpTransport } from "@perdure/http-client";
import { type Certificates, makeCertificates, until } from "@perdure/testkit";
import { RUNTIME_TOKEN_HEADER } from "@perdure/tunnel";
import { service } from "@restatedev/restate-sdk";
import { connectTunnel } from "@restatedev/restate-sdk-tunnel";
import { aTenant, ownClient, type Tenant } from "./fixture.js";
import { aLocal } from "./local.js";

const tenancy = new MemoryTenancy();
const folder = mkdtempSync(join(tmpdir(), "perdure-relay-"));
let certificates: Certificates;
let grpc: Awaited<ReturnType<typeof openGrpcListener>>;
let relay: ServiceProgram;
let tenant: Tenant;
let tunnelPort: string;
let proxyUrl: string;
beforeAll(async () => {
  certificates = (await makeCertificates()).trusted;
  writeFileSync(join(folder, "cert.pem"), certificates.certificate);
  writeFileSync(join(folder, "key.pem"), certificates.privateKey);
  tenant = aTenant(tenancy);
  grpc = await openGrpcListener({ bindAddress: "127.0.0.1", bindPort: 0 }, undefined);
  grpc.serve("perdure.control.v1.Tenancy", tenancyDefinition, tenancyHandlers(tenancy, silentLogger));
  relay = await ServiceProgram.launch({
    service: "tunnel-relay",
    settings: {
      "tenancy.addresses": `127.0.0.1:${grpc.port}`,
      "tunnels.bind-address": "127.0.0.1",
      "tunnels.bind-port": 0,
      "proxy.bind-port": 0,
      "probes.bind-port": 0,
      "probes.bind-address": "127.0.0.1",
      "public-tls.certificate-file": join(folder, "cert.pem"),
      "public-tls.private-key-file": join(folder, "key.pem"),
      "node-name": "relay-1",
      domain: "perdure.test",
    },
  });
  const facts = await relay.ready();
  tunnelPort = new URL(facts["tunnels"] as string).port;
  proxyUrl = `https://localhost:${new URL(facts["proxy"] as string).port}`;
}, 120_000);
afterAll(async () => {
  await relay[Symbol.asyncDispose]();
  await grpc[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test("serves clients over TLS, reports them to tenancy, and drains on a signal", async () => {
  await using local = await aLocal();
  await using client = ownClient({ tunnelUrl: `tls://localhost:${tunnelPort}` }, tenant, {
    ca: certificates.authority,
    locals: [{ tunnelPort: 1, host: "127.0.0.1", port: local.port }],
  });
  const bare = bareOf(tenant.facts.id);
  expect(await client.tunnel.ready).toEqual({ name: "t", proxyUrl: `https://tunnel.us.perdure.test:9080/${bare}/t` });

  const official = connectTunnel({
    tunnelServers: [`localhost:${tunnelPort}`],
    tls: { ca: certificates.authority },
    environmentId: tenant.facts.id,
    authToken: tenant.key,
    signingPublicKey: tenant.identity.publicKey,
    tunnelName: "official",
    gracefulShutdown: false,
    logger: () => undefined,
    services: [service({ name: "S", handlers: { h: async () => "h" } })],
  });
  await official.ready;
  expect(official.deploymentUrl).toBe(`https://tunnel.us.perdure.test:9080/${bare}/official/http/in-process/9080/`);
  await until(() => (tenancy.tunnels.get("relay-1")?.connections.length ?? 0) === 2);

  await using transport = createHttpTransport(
    { clock: systemClock, random: systemRandom },
    { trustedCertificates: certificates.authority },
  );
  const headers: Record<string, string> = {
    accept: "application/vnd.restate.endpointmanifest.v4+json",
    [RUNTIME_TOKEN_HEADER]: tenant.token,
  };
  tenant.identity.sign(headers, "/discover", undefined);
  const request = (path: string) =>
    exchangeWhole(
      { transport, clock: systemClock },
      {
        address: { kind: "http", uri: `${proxyUrl}/${bare}/${path}`, httpVersion: "HTTP/2.0" },
        method: "GET",
        path: "/discover",
        headers,
      },
      { responseBytesMax: 100_000, timeoutMs: 10_000 },
    );
  expect(await request("t/http/localhost/1")).toMatchObject({ kind: "response", status: 200 });
  expect(await request("official/http/in-process/9080")).toMatchObject({ kind: "response", status: 200 });

  const drained = client.next("draining");
  const stopped = relay.stop();
  await drained;
  await official.close();
  expect(await stopped).toMatchObject({ code: 0 });
  await until(() => tenancy.tunnels.get("relay-1")?.connections.length === 0);
}, 60_000);

test("with `cleartext` the listener for runtimes has no TLS while that for clients has", async () => {
  const changed = { "proxy.cleartext": "true", "probes.bind-port": 0 };
  await relay.startAgain(changed);
  const facts = await relay.ready();
  expect(facts["tunnels"]).toMatch(/^https:/);
  expect(facts["proxy"]).toMatch(/^http:/);
  const answer = await fetch(`http://127.0.0.1:${new URL(facts["proxy"] as string).port}/`);
  expect(answer.status).toBe(400); // The request was parsed: there is no tunnel of that name.
});

test("authorities of other relays are read again when their file is replaced", async () => {
  const { untrusted } = await makeCertificates();
  /** Another relay, which has every tunnel. */
  const peer = createSecureServer({ cert: untrusted.certificate, key: untrusted.privateKey });
  peer.on("stream", (stream, headers) => {
    stream.respond({ ":status": headers[":method"] === "HEAD" ? 204 : 200 });
    stream.end(headers[":method"] === "HEAD" ? undefined : "far");
    stream.resume();
  });
  await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve));
  const file = join(folder, "peers.pem");
  writeFileSync(file, certificates.authority);
  await relay.stop();
  await relay.startAgain({
    "peers.urls": `https://localhost:${(peer.address() as AddressInfo).port}`,
    "peers.ca-file": file,
    "public-tls.check-interval": "100ms",
    "proxy.cleartext": "true",
    "probes.bind-port": 0,
  });
  const { proxy = "" } = await relay.ready();
  const port = new URL(proxy).port;
  const headers: Record<string, string> = { [RUNTIME_TOKEN_HEADER]: tenant.token };
  tenant.identity.sign(headers, "/x", undefined);
  const status = async () =>
    (await fetch(`http://127.0.0.1:${port}/${bareOf(tenant.facts.id)}/far/http/localhost/1/x`, { method: "POST", headers }))
      .status;
  expect(await status()).toBe(502);
  writeFileSync(file, "half a file");
  writeFileSync(file, untrusted.authority);
  expect(await eventually("the other relay is trusted", async () => (await status()) === 200 || undefined)).toBe(true);
  peer.close();
}, 60_000);
