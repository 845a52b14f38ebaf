import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Logger, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { Health, Lifecycle } from "@perdure/process-kit";
import { Metrics, noTracer, Sampler } from "@perdure/telemetry";
import { type BoundPorts, startStandalone } from "./composition.js";
import { loadSettings } from "./config.js";

let folder: string;
let running: Lifecycle[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-standalone-"));
  running = [];
});

afterEach(async () => {
  for (const lifecycle of running) {
    lifecycle.stop("test");
    await lifecycle.untilEnded();
  }
  rmSync(folder, { recursive: true });
});

const FREE_PORTS = ["--ingress.bind-address=127.0.0.1", "--ingress.bind-port=0", "--admin.bind-port=0"];

const warnings: string[] = [];
const logger: Logger = { ...silentLogger, warn: (_fields, message) => void warnings.push(message), child: () => logger };

async function start(...flags: string[]): Promise<BoundPorts> {
  const given = [...FREE_PORTS, "--worker.num-partitions=2", "--base-dir", folder, ...flags];
  const inputs = { file: undefined, environment: {}, flags: given };
  const { values } = loadSettings(inputs);
  warnings.length = 0;
  const lifecycle = new Lifecycle({ logger: silentLogger, clock: systemClock, health: new Health(), shutdownTimeoutMs: 5000 });
  const metrics = new Metrics();
  const ports = await startStandalone(
    values,
    {
      lifecycle,
      metrics,
      tracer: noTracer,
      invocationTracer: noTracer,
      sampler: new Sampler({ ratio: 0 }, systemRandom),
      clock: systemClock,
      random: systemRandom,
      logger,
    },
    { inputs, onLogFilter() {} },
  );
  running.push(lifecycle);
  return ports;
}

/** Ports that are free now. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  await Promise.all(servers.map((server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function stopLast(): Promise<void> {
  const lifecycle = running.pop()!;
  lifecycle.stop("test");
  expect(await lifecycle.untilEnded()).toEqual({ kind: "stopped" });
}

const NODE = "node1";
const FORMAT_FILE = "perdure-format.json";

describe("a whole server in one process", () => {
  test("both listeners respond, and the management API shows the metrics", async () => {
    const { ingressPort, adminPort } = await start();
    const health = await fetch(`http://127.0.0.1:${ingressPort}/restate/health`);
    expect(await health.json()).toEqual({ services: [] });
    const version = (await (await fetch(`http://127.0.0.1:${adminPort}/version`)).json()) as { ingress_endpoint: string };
    expect(version.ingress_endpoint).toBe(`http://localhost:${ingressPort}/`);
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    expect(metrics).toContain('perdure_gateway_requests_total{kind="health",code="2xx",outcome="ok"} 1');
  });

  test("the paths of the test server are nowhere", async () => {
    const { ingressPort, adminPort } = await start();
    for (const path of ["/testing", "/testing/clock", "/testing/faults", "/testing/journals", "/v3/testing/clock"]) {
      for (const method of ["GET", "POST"]) {
        expect((await fetch(`http://127.0.0.1:${adminPort}${path}`, { method })).status).toBe(404);
      }
      expect([400, 404]).toContain((await fetch(`http://127.0.0.1:${ingressPort}${path}`)).status);
    }
  });

  test("callers are served when the management API responds, however many of them wait", async () => {
    const [ingress, admin] = await freePorts(2);
    const stop = new AbortController();
    const first = Promise.withResolvers<number>();
    /** Calls until there is a response, then requests the health of the management API at once. */
    const caller = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        const answered = await fetch(`http://127.0.0.1:${ingress}/restate/health`).catch(() => undefined);
        if (answered === undefined) {
          await delay(2); // The server starts in this very process, and must get a chance to.
          continue;
        }
        first.resolve(await fetch(`http://127.0.0.1:${admin}/health`).then(({ status }) => status));
        return;
      }
    };
    const callers = Array.from({ length: 4 }, caller);
    for (const calling of callers) calling.catch(first.reject);
    try {
      await start(`--ingress.bind-port=${ingress}`, `--admin.bind-port=${admin}`);
      expect(await first.promise).toBe(200);
      await Promise.all(callers);
    } finally {
      stop.abort();
    }
  });

  test("management that other machines reach without a credential is a warning at start", async () => {
    await start();
    expect(warnings.filter((message) => message.includes("management API"))).toEqual([]);
    await stopLast();
    await start("--admin.bind-address=*");
    expect(warnings.filter((message) => message.includes("management API"))).toEqual([
      expect.stringMatching(/requires no credential.*set admin\.bind-address to 127\.0\.0\.1/),
    ]);
    await stopLast();
    const file = join(folder, "secret");
    writeFileSync(file, "between-us\n");
    await start("--admin.bind-address=*", "--runtime.secret-file", file);
    expect(warnings.filter((message) => message.includes("management API"))).toEqual([]);
  });

  test("it stops in order, and starts again on the same data", async () => {
    await start();
    await stopLast();
    const { ingressPort } = await start();
    expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`)).status).toBe(200);
  });
});

describe("as the runtime of an environment", () => {
  test.each(["running", "suspended"])(
    "%s, it serves requests with the secret, on both listeners, and reports what was done",
    async (mode) => {
      const file = join(folder, "secret");
      writeFileSync(file, "between-us\n");
      const { ingressPort, adminPort } = await start("--runtime.secret-file", file, "--runtime.mode", mode);
      const headers = { "x-perdure-runtime-secret": "between-us" };
      const usage = `http://127.0.0.1:${adminPort}/internal/usage`;
      expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`)).status).toBe(401);
      expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`, { headers })).status).toBe(200);
      expect((await fetch(usage)).status).toBe(401);
      const report = await (await fetch(usage, { headers })).json();
      expect(report).toEqual({ source: expect.any(String), actions: 0, storedBytes: expect.any(Number) });
      const written = await fetch(`http://127.0.0.1:${adminPort}/deployments`, { method: "POST", headers, body: "{}" });
      expect(written.status).toBe(mode === "suspended" ? 403 : 415);
      await stopLast();
      const again = await start("--runtime.secret-file", file);
      const later = await fetch(`http://127.0.0.1:${again.adminPort}/internal/usage`, { headers });
      expect(await later.json()).toMatchObject({ source: (report as { source: string }).source });
    },
  );
});

describe("with the limits of a plan", () => {
  let endpoint: Http2Server;

  beforeEach(async () => {
    const handlers = [{ name: "count", ty: "EXCLUSIVE" }];
    const services = [{ name: "Counter", ty: "VIRTUAL_OBJECT", handlers }];
    const manifest = { protocolMode: "BIDI_STREAM", minProtocolVersion: 5, maxProtocolVersion: 7, services };
    endpoint = createHttp2Server((_req, res) => {
      res.writeHead(200, { "content-type": "application/vnd.restate.endpointmanifest.v4+json" });
      res.end(JSON.stringify(manifest));
    });
    await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => new Promise<void>((resolve) => void endpoint.close(() => resolve())));

  async function post(port: number, path: string, body: unknown): Promise<{ status: number; code: unknown }> {
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const text = await answer.text();
    const code = text === "" ? undefined : (JSON.parse(text) as { restate_code?: unknown }).restate_code;
    return { status: answer.status, code };
  }

  /** Again and again, since what is stored is measured now and then. */
  async function until(status: number, again: () => Promise<{ status: number }>): Promise<{ status: number }> {
    for (;;) {
      const answer = await again();
      if (answer.status === status) return answer;
    }
  }

  test("the storage limit applies: then writes are refused, reads continue, and clearing passes", async () => {
    const { ingressPort, adminPort } = await start("--limits.stored-bytes=1MiB", "--limits.deployments=1");
    const uri = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
    expect((await post(adminPort, "/deployments", { uri })).status).toBe(201);
    expect(await post(adminPort, "/deployments", { uri: `${uri}/other` })).toEqual({ status: 403, code: "TEN0002" });

    let keys = 0;
    const put = () => {
      const value = randomBytes(48 * 1024).toString("base64");
      return post(adminPort, "/services/Counter/state", { object_key: `k${keys++ % 32}`, new_state: { value } });
    };
    expect(await until(507, put)).toEqual({ status: 507, code: "TEN0003" });
    expect(await post(ingressPort, "/Counter/k/count/send", {})).toEqual({ status: 507, code: "TEN0003" });
    expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${adminPort}/services`)).status).toBe(200);

    const clear = async (key: number) =>
      (await post(adminPort, "/services/Counter/state", { object_key: `k${key}`, new_state: {} })).status;
    const cleared = await Promise.all(Array.from({ length: 32 }, (_, key) => clear(key)));
    expect(new Set(cleared)).toEqual(new Set([202]));
  }, 30_000);
});

describe("refusals to start", () => {
  let occupant: Server;
  let occupiedPort: number;

  beforeEach(async () => {
    occupant = createServer();
    await new Promise<void>((resolve) => occupant.listen(0, "127.0.0.1", resolve));
    occupiedPort = (occupant.address() as AddressInfo).port;
  });
  afterEach(() => new Promise<void>((resolve) => void occupant.close(() => resolve())));

  test.each(["ingress", "admin"])("RT0004 when the port of %s is in use, before any data is touched", async (listener) => {
    const refused = start(`--${listener}.bind-port=${occupiedPort}`);
    await expect(refused).rejects.toMatchObject({
      code: "RT0004",
      detail: expect.stringContaining(`127.0.0.1:${occupiedPort} (${listener}.bind-port): in use by process ${process.pid} (`),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("RT0005 when another server has the data; that server is not disturbed", async () => {
    const { ingressPort } = await start();
    await expect(start()).rejects.toMatchObject({ code: "RT0005" });
    expect((await fetch(`http://127.0.0.1:${ingressPort}/restate/health`)).status).toBe(200);
  });

  test.each([
    ["RT0009", "db", "worker.storage-rocksdb.path"],
    ["META0011", "local-metadata-store", "meta.storage-path"],
  ])("%s when the directory %s holds something without a version; nothing of it is touched", async (code, directory, setting) => {
    const path = join(folder, NODE, directory);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "somebody-elses.txt"), "data");
    await expect(start()).rejects.toMatchObject({ code, detail: expect.stringContaining(setting) });
    expect(readdirSync(path)).toEqual(["somebody-elses.txt"]);
  });

  test.each(["db", "local-metadata-store"])(
    "META0010 when %s was written in a format of the future; nothing of it is touched",
    async (directory) => {
      await start();
      await stopLast();
      const file = join(folder, NODE, directory, FORMAT_FILE);
      writeFileSync(file, '{"format":999}');
      await expect(start()).rejects.toMatchObject({ code: "META0010", detail: expect.stringContaining("999") });
      expect(readFileSync(file, "utf8")).toBe('{"format":999}');
    },
  );

  test("after a refusal nothing is locked: correcting it is enough", async () => {
    const path = join(folder, NODE, "db");
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, "in-the-way"), "");
    await expect(start()).rejects.toMatchObject({ code: "RT0009" });
    rmSync(path, { recursive: true });
    await start();
    expect(existsSync(join(path, FORMAT_FILE))).toBe(true);
  });

  test("OPS0001 when the identity key is missing or no key, without showing what it is", async () => {
    await expect(start("--request-identity-private-key-pem-file", join(folder, "none.pem"))).rejects.toMatchObject({
      code: "OPS0001",
      detail: expect.stringContaining("there is no such file"),
    });
    const file = join(folder, "key.pem");
    writeFileSync(file, "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n");
    const refused = start("--request-identity-private-key-pem-file", file);
    await expect(refused).rejects.toMatchObject({ code: "OPS0001", detail: expect.not.stringContaining("hunter2") });
  });
});

describe("a guarded server", () => {
  let inside: Server;
  let port: number;
  let connectionCount: number;

  beforeEach(async () => {
    connectionCount = 0;
    inside = createServer((socket) => {
      connectionCount++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
    port = (inside.address() as AddressInfo).port;
  });
  afterEach(() => new Promise<void>((resolve) => void inside.close(() => resolve())));

  async function register(adminPort: number, body: object): Promise<{ status: number; body: unknown }> {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  test("refuses to register internal addresses, connects nowhere, and reports no more than that", async () => {
    const { adminPort } = await start("--egress.policy=guarded", "--egress.allow-plain-http=true");
    for (const host of ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"]) {
      const refusal = await register(adminPort, { uri: `http://${host}:${port}` });
      expect(refusal).toMatchObject({
        status: 400,
        body: { message: "[META0003] destination not allowed", restate_code: "META0003" },
      });
    }
    expect(await register(adminPort, { uri: `http://127.0.0.1:${adminPort}` })).toMatchObject({ status: 400 });
    const lambda = await register(adminPort, { arn: "arn:aws:lambda:eu-central-1:123456789012:function:greeter:7" });
    expect(lambda).toMatchObject({ status: 400, body: { restate_code: "META0003" } });
    expect(connectionCount).toBe(0);
  });

  test("goes where its operator made an exception, and an open one anywhere", async () => {
    const place = `http://127.0.0.1:${port}/mine/`;
    const { adminPort } = await start("--egress.policy=guarded", `--egress.allow=["${place}"]`);
    expect(await register(adminPort, { uri: place })).toMatchObject({ status: 500, body: { restate_code: "META0003" } });
    expect(connectionCount).toBeGreaterThan(0);
    const before = connectionCount;
    expect(await register(adminPort, { uri: `http://127.0.0.1:${port}/` })).toMatchObject({ status: 400 });
    expect(connectionCount).toBe(before);
    await stopLast();
    const open = await start();
    expect(await register(open.adminPort, { uri: `http://127.0.0.1:${port}/` })).toMatchObject({ status: 500 });
    expect(connectionCount).toBeGreaterThan(before);
  });
});
