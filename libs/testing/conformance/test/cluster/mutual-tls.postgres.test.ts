/** Processes with certificates of one authority authenticate each other; without them they refuse each other. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RoleSettings, ServiceProgram } from "@perdure/dev-cluster";
import type { MutualTls } from "@perdure/grpc";
import { TestWorker } from "@perdure/grpc/testing";
import { type EmptyDatabase, freePorts, startDatabase } from "@perdure/servers";
import { MemoryKeyValue } from "@perdure/storage";
import { makeCertificates } from "@perdure/testkit";
import { eventually } from "../../src/index.js";
import { LOCAL, probe } from "./setup.js";

const folder = mkdtempSync(join(tmpdir(), "perdure-tls-"));
let postgres: EmptyDatabase;
const things: AsyncDisposable[] = [];

beforeAll(async () => {
  postgres = await startDatabase();
}, 120_000);
afterAll(async () => {
  for (const thing of things.toReversed()) await thing[Symbol.asyncDispose]();
  await postgres[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** The certificates as files, and the settings that name them. */
function filesOf(name: string, { authority, certificate, privateKey }: MutualTls): RoleSettings {
  const file = (kind: string, text: string): string => {
    const path = join(folder, `${name}-${kind}.pem`);
    writeFileSync(path, text);
    return path;
  };
  return {
    "tls.authority-file": file("authority", authority),
    "tls.certificate-file": file("certificate", certificate),
    "tls.private-key-file": file("key", privateKey),
  };
}

test("a gateway with our certificates gets ready, one with other certificates or none never does", async () => {
  const { trusted, untrusted } = await makeCertificates();
  const worker = await TestWorker.start(new MemoryKeyValue(), { epoch: 1, tls: trusted });
  things.push(worker);
  const [grpc, probes, ...gates] = (await freePorts(5)) as [number, number, number, number, number];
  const launch = async (service: "registry" | "ingress-gateway", settings: RoleSettings): Promise<ServiceProgram> => {
    const program = await ServiceProgram.launch({
      service,
      settings: { ...LOCAL, "worker.addresses": worker.address, ...settings },
    });
    things.push(program);
    return program;
  };
  const registry = await launch("registry", {
    ...filesOf("ours", trusted),
    "metadata.postgres-url": postgres.url,
    "grpc.bind-address": "127.0.0.1",
    "grpc.bind-port": grpc,
    "probes.bind-port": probes,
  });
  const gateway = (port: number, tls: RoleSettings) =>
    launch("ingress-gateway", {
      ...tls,
      "registry.addresses": `127.0.0.1:${grpc}`,
      "ingress.bind-address": "127.0.0.1",
      "ingress.bind-port": 0,
      "probes.bind-port": port,
    });
  const [ours] = await Promise.all([
    gateway(gates[0], filesOf("ours-too", trusted)),
    gateway(gates[1], filesOf("theirs", untrusted)),
    gateway(gates[2], {}),
  ]);
  await registry.ready();
  await ours.ready();
  for (const port of gates.slice(1)) {
    const { status, text } = await eventually("it reports the pending condition", () => probe(port));
    expect({ status, text }).toEqual({ status: 503, text: "waiting for: start-up, registry's state\n" });
  }
}, 60_000);

test("the error about a certificate that cannot be read names its setting", async () => {
  const settings = { ...filesOf("half", (await makeCertificates()).trusted), "tls.private-key-file": join(folder, "none.pem") };
  const program = await ServiceProgram.launch({ service: "registry", settings: { ...LOCAL, ...settings } });
  things.push(program);
  await expect(program.ready()).rejects.toThrow("tls.private-key-file");
}, 60_000);
