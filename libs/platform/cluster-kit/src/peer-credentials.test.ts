/** Certificates between processes, replaced under way as Kubernetes replaces a mounted Secret, and real handshakes before and after. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, Metadata, status } from "@grpc/grpc-js";
import { afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { type MutualTls, openChannel, type PeerCredentials, partitionsDefinition } from "@perdure/grpc";
import { Health, Lifecycle } from "@perdure/process-kit";
import { Metrics } from "@perdure/telemetry";
import { makeCertificates, VirtualClock } from "@perdure/testkit";
import { openGrpcListener } from "./grpc-listener.js";
import { openPeerCredentials } from "./peer-credentials.js";

const CHECK_MS = 10_000;
const SERVICE = "perdure.control.v1.Partitions";

let pairs: { readonly trusted: MutualTls; readonly untrusted: MutualTls };
let directory: string;
let secrets = 0;
const opened: (() => PromiseLike<void> | void)[] = [];
beforeAll(async () => {
  pairs = await makeCertificates();
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-peers-"));
  mount(pairs.trusted);
  for (const name of ["ca.crt", "tls.crt", "tls.key"]) symlinkSync(join("..data", name), join(directory, name));
});
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
  rmSync(directory, { recursive: true });
});

/** Files of one version lie in a directory of their own; the link to it is replaced at once. */
function mount({ authority, certificate, privateKey }: MutualTls): void {
  const version = `..version-${++secrets}`;
  mkdirSync(join(directory, version));
  writeFileSync(join(directory, version, "ca.crt"), authority);
  writeFileSync(join(directory, version, "tls.crt"), certificate);
  writeFileSync(join(directory, version, "tls.key"), privateKey);
  symlinkSync(version, join(directory, "..new"));
  renameSync(join(directory, "..new"), join(directory, "..data"));
}

async function openMounted() {
  const clock = new VirtualClock();
  const warnings: object[] = [];
  const logger = { ...silentLogger, warn: (facts: object) => warnings.push(facts) } as typeof silentLogger;
  const metrics = new Metrics();
  const lifecycle = new Lifecycle({ logger: silentLogger, clock: systemClock, health: new Health(), shutdownTimeoutMs: 1000 });
  const settings = {
    authorityFile: join(directory, "ca.crt"),
    certificateFile: join(directory, "tls.crt"),
    privateKeyFile: join(directory, "tls.key"),
    checkInterval: CHECK_MS,
  };
  const peers = await openPeerCredentials(settings, { lifecycle, metrics, clock, logger });
  opened.push(() => lifecycle.stop("the test is over"));
  const listener = await openGrpcListener({ bindAddress: "127.0.0.1", bindPort: 0 }, peers);
  opened.push(() => listener[Symbol.asyncDispose]());
  listener.serve(SERVICE, partitionsDefinition, {});
  const connect = (shown: PeerCredentials | undefined): Client => {
    const client = openChannel(`127.0.0.1:${listener.port}`, shown);
    opened.push(() => client.close());
    return client;
  };
  return { peers, connect, metrics, warnings, check: () => clock.advanceTo(clock.nowMs() + CHECK_MS) };
}

/** Whether the service is served, or the reason why the call failed. */
function call(client: Client): Promise<string> {
  const name = Buffer.from(SERVICE);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes[1] ?? 0,
      Buffer.concat([Buffer.from([0x0a, name.length]), name]),
      new Metadata(),
      { deadline: Date.now() + 5000 },
      (error, answer) => resolve(error === null ? `answered ${answer}` : (status[error.code] ?? "?")),
    );
  });
}

test("new files hold for new connections of both sides, and open ones continue", async () => {
  const { peers, connect, check } = await openMounted();
  const before = connect(peers);
  expect(await call(before)).toBe("answered 1");
  expect(await call(connect(pairs.untrusted))).toBe("UNAVAILABLE");

  mount(pairs.untrusted);
  check();
  expect(await call(connect(pairs.untrusted))).toBe("answered 1");
  expect(await call(connect(peers))).toBe("answered 1");
  expect(await call(connect(pairs.trusted))).toBe("UNAVAILABLE");
  expect(await call(before)).toBe("answered 1");
});

test("files that cannot be used leave the old ones in use, are logged once with a code, and the metric shows when those end", async () => {
  const { peers, connect, check, warnings, metrics } = await openMounted();
  mount({ ...pairs.trusted, privateKey: pairs.untrusted.privateKey });
  check();
  check();
  mount({ ...pairs.trusted, authority: "not a certificate" });
  check();
  expect(warnings).toEqual([
    { code: "OPS0001", file: join(directory, "tls.crt"), cause: expect.stringContaining("'tls' cannot be used together") },
    { code: "OPS0001", file: join(directory, "tls.crt"), cause: expect.stringContaining("'tls' cannot be used together") },
  ]);
  expect(await call(connect(peers))).toBe("answered 1");
  expect(await metrics.text()).toMatch(/^perdure_peer_tls_cert_expiry_seconds \d+/m);
});
