/** Authorities of Redis are renewed while processes run: their file is read for each new connection. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { freePorts, type RedisServer, startRedis } from "@perdure/servers";
import type { Mutation } from "@perdure/state-machine";
import { type Certificates, makeCertificates } from "@perdure/testkit";
import { COMMITTED, connectTo, lead } from "./connected.js";

const TEST_MS = 60_000;
const mark = (seq: number): Mutation => ({ kind: "putDedup", producer: "p", seq });

let folder: string;
let [trusted, untrusted]: Certificates[] = [];
const fileOf = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "perdure-redis-authority-"));
  ({ trusted, untrusted } = await makeCertificates());
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const authorities = (pem: string): void => writeFileSync(fileOf("ca.pem"), pem);

function serve(certificates: Certificates | undefined): void {
  writeFileSync(fileOf("cert.pem"), certificates?.certificate ?? "");
  writeFileSync(fileOf("key.pem"), certificates?.privateKey ?? "");
}

async function startTls(): Promise<{ readonly redis: RedisServer; readonly port: number }> {
  const [port] = (await freePorts(1)) as [number];
  const files = { "tls-cert-file": fileOf("cert.pem"), "tls-key-file": fileOf("key.pem") };
  return { redis: await startRedis({ config: { "tls-port": String(port), "tls-auth-clients": "no", ...files } }), port };
}

const connect = (port: number, timeoutMs?: number) =>
  connectTo(port, {
    nodes: [{ host: "localhost", port }],
    tls: {},
    caFile: fileOf("ca.pem"),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });

test(
  "a server whose authority is not in the file is refused, until it is there",
  async () => {
    serve(trusted);
    authorities(untrusted?.authority ?? "");
    const { redis, port } = await startTls();
    await using _redis = redis;
    await expect(connect(port, 300)).rejects.toMatchObject({ code: "STO0001", message: expect.stringMatching(/certificate/) });
    authorities(trusted?.authority ?? "");
    await using connections = await connect(port);
    expect(await (await lead(connections)).put(mark(1))).toEqual(COMMITTED);
  },
  TEST_MS,
);

test(
  "connections that are open follow a renewed authority when they connect again; a file that is missing or cut changes nothing",
  async () => {
    serve(trusted);
    authorities(trusted?.authority ?? "");
    const { redis, port } = await startTls();
    await using _redis = redis;
    await using connections = await connect(port, 30_000);
    const { put } = await lead(connections);
    expect(await put(mark(1))).toEqual(COMMITTED);

    for (const spoil of [() => rmSync(fileOf("ca.pem")), () => authorities("-----BEGIN CERTIFICATE-----\nMIIB")]) {
      spoil();
      await redis.stop();
      await redis.startAgain();
      expect(await put(mark(2))).toEqual(COMMITTED);
    }

    // Both authorities first, then the certificate of the new one, then the new one alone, as operators renew them.
    authorities(`${trusted?.authority}\n${untrusted?.authority}`);
    await redis.stop();
    serve(untrusted);
    await redis.startAgain();
    expect(await put(mark(3))).toEqual(COMMITTED);
    authorities(untrusted?.authority ?? "");
    await redis.stop();
    await redis.startAgain();
    expect(await put(mark(4))).toEqual(COMMITTED);
  },
  TEST_MS,
);
