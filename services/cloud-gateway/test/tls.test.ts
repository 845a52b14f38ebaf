/** TLS: both protocols by ALPN, the name of the handshake, and certificates that are renewed while connections are open (cloud.md §6.1). */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import type { EnvironmentFacts } from "@perdure/cloud";
import { type Certificate, WatchedCertificate } from "@perdure/http-server";
import { readPublicCertificate } from "@perdure/process-kit/http";
import { type Certificates, makeCertificates } from "@perdure/testkit";
import type { Http, TlsOptions } from "./client.js";
import { bearer, type GatewayFixture, hostOf, startGateway, startRuntime, type TestRuntime, valuesOf } from "./fixture.js";

let pairs: { readonly trusted: Certificates; readonly untrusted: Certificates };
let directory: string;
let watched: WatchedCertificate<Certificate>;
let runtime: TestRuntime;
let fixture: GatewayFixture;
let facts: EnvironmentFacts;
beforeAll(async () => {
  pairs = await makeCertificates();
  directory = mkdtempSync(join(tmpdir(), "perdure-gateway-"));
  install(pairs.trusted);
  const files = { certificateFile: join(directory, "cert.pem"), privateKeyFile: join(directory, "key.pem") };
  const options = { read: () => readPublicCertificate(files), file: files.certificateFile, checkMs: 60_000 };
  watched = new WatchedCertificate(options, { clock: systemClock, logger: silentLogger });
  runtime = await startRuntime();
  fixture = await startGateway({ listen: { certificates: watched } });
  facts = fixture.environment(runtime);
});
afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
  await runtime[Symbol.asyncDispose]();
  watched[Symbol.dispose]();
  rmSync(directory, { recursive: true, force: true });
});

function install({ certificate, privateKey }: Certificates): void {
  writeFileSync(join(directory, "cert.pem"), certificate);
  writeFileSync(join(directory, "key.pem"), privateKey);
}

/** The certificate is issued for localhost, whatever name the client requests. */
const tls = (servername: string, ca = pairs.trusted.authority): TlsOptions & { checkServerIdentity: () => undefined } => ({
  ca,
  servername,
  checkServerIdentity: () => undefined,
});

test.each<Http>(["http/1.1", "h2"])(
  "a request over TLS and %s passes, and the runtime receives https as its scheme",
  async (http) => {
    const headers = bearer(fixture.tenancy.addKey(facts.id, "rst:role::FullAccess"));
    const answer = await fixture.call(http, "ingress", facts, { path: "/S/h", headers }, tls(hostOf(facts)));
    expect(answer.status).toBe(200);
    expect(answer.headers["strict-transport-security"]).toContain("max-age");
    expect(valuesOf(runtime.requests.at(-1)!.rawHeaders, "x-forwarded-proto")).toEqual(["https"]);
  },
);

test.each<Http>(["http/1.1", "h2"])("T2: over %s a host that is not the handshake's is misdirected", async (http) => {
  const other = fixture.environment(runtime);
  const headers = bearer(fixture.tenancy.addKey(other.id, "rst:role::FullAccess"));
  const before = runtime.started;
  const answer = await fixture.call(http, "ingress", other, { path: "/S/h", headers }, tls(hostOf(facts)));
  expect([answer.status, answer.json["restate_code"]]).toEqual([421, "PERD0421"]);
  expect(runtime.started).toBe(before);
});

function handshake(
  options: { ALPNProtocols?: string[]; maxVersion?: "TLSv1.1" | "TLSv1.3"; ca?: string } = {},
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const at = { port: fixture.ports.ingress, host: "127.0.0.1", ...tls("localhost"), minVersion: "TLSv1" as const, ...options };
    const socket = connect(at, () => resolve(socket));
    socket.once("error", reject);
  });
}

test("ALPN offers both protocols; old versions of TLS are refused", async () => {
  for (const [offered, chosen] of [
    [["h2", "http/1.1"], "h2"],
    [["http/1.1"], "http/1.1"],
    [undefined, false],
  ] as const) {
    const socket = await handshake(offered === undefined ? {} : { ALPNProtocols: [...offered] });
    expect(socket.alpnProtocol).toBe(chosen);
    socket.destroy();
  }
  await expect(handshake({ maxVersion: "TLSv1.1" })).rejects.toThrow();
});

test("a new certificate holds for new connections, and drops none; a broken one changes nothing", async () => {
  const old = await handshake({ ALPNProtocols: ["http/1.1"] });
  const request = `GET /version HTTP/1.1\r\nhost: ${hostOf(facts)}\r\n\r\n`;
  writeFileSync(join(directory, "cert.pem"), "not a certificate");
  watched.check();
  (await handshake()).destroy();
  install(pairs.untrusted);
  watched.check();
  (await handshake({ ca: pairs.untrusted.authority })).destroy();
  await expect(handshake()).rejects.toThrow();
  const answered = new Promise<string>((resolve) => old.once("data", (chunk: Buffer) => resolve(chunk.toString())));
  old.write(request);
  expect(await answered).toMatch(/^HTTP\/1\.1 \d{3}/);
  old.destroy();
});
