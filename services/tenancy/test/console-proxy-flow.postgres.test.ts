/** The console's proxy to an environment: how requests and responses flow, and how a connection ends. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { bareOf, type EnvironmentId } from "@perdure/cloud";
import { PROXIED_BODY_BYTES_MAX, PROXIED_HEADERS_MS } from "@perdure/console-proxy";
import { type EmptyDatabase, startDatabase } from "@perdure/servers";
import { CONSOLE_PASSWORD, ConsolePage, MovableClock, openTestTenancy, type TestTenancy } from "../src/testing/index.js";
import { type Script, selfSigned } from "./console-proxy-parts.js";

/** Stands for a gateway: answers as the test says, and keeps the received requests. */
let gateway: Server;
let script: Script;
let requests: IncomingMessage[];
let database: EmptyDatabase;
let cloud: TestTenancy;
let page: ConsolePage;
let account: string;
let environment: EnvironmentId;

const portOf = (one: Server): number => (one.address() as AddressInfo).port;

beforeAll(async () => {
  gateway = createServer((req, res) => {
    requests.push(req);
    script(req, res);
  });
  gateway.listen(0, "127.0.0.1");
  [database] = await Promise.all([startDatabase(), once(gateway, "listening")]);
  const port = portOf(gateway);
  cloud = await openTestTenancy(database.url, {
    console: { gateway: { host: "127.0.0.1", scheme: "http", ports: { ingress: port, admin: port } } },
  });
  page = await ConsolePage.of(cloud.origin, "ada@perdure.test");
  account = (await page.post("/console/cloud/ListAccounts")).json.accounts[0].accountId;
  environment = await anEnvironment(page, account, "dev");
}, 120_000);
afterAll(async () => {
  await cloud[Symbol.asyncDispose]();
  gateway.closeAllConnections();
  await new Promise((resolve) => gateway.close(resolve));
  await database[Symbol.asyncDispose]();
});
beforeEach(() => {
  requests = [];
  script = (_req, res) => void res.writeHead(200, { "content-type": "application/json" }).end("{}");
});

async function anEnvironment(owner: ConsolePage, of: string, name: string): Promise<EnvironmentId> {
  const { json } = await owner.post(`/console/cloud/${of}/CreateEnvironment`, { name, region: "us" });
  await cloud.ports.database.tables.environments.take(json.environmentId, { event: "provisioned", nowMs: cloud.clock.nowMs() });
  return json.environmentId;
}

const at = (endpoint: "admin" | "ingress", path: string, id: string = environment): string =>
  `/console/environments/${id}/${endpoint}${path}`;

/** Resolves without reading the answer. */
function open(path: string, method = "GET", headers: Record<string, string> = {}) {
  const { hostname, port } = new URL(page.origin);
  const sent = { cookie: page.cookie, "x-perdure-csrf": page.csrf, ...headers };
  return request({ host: hostname, port, method, path, headers: sent, agent: false });
}

describe("how it flows", () => {
  test("an answer is streamed while it is made", async () => {
    const rest = Promise.withResolvers<void>();
    script = async (_req, res) => {
      res.writeHead(200, { "content-type": "application/json" }).write("[1,");
      await rest.promise;
      res.end("2]");
    };
    const outgoing = open(at("admin", "/query"), "POST").end();
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    const [first] = (await once(incoming, "data")) as [Buffer];
    expect(first.toString()).toBe("[1,");
    rest.resolve();
    const [second] = (await once(incoming, "data")) as [Buffer];
    expect(second.toString()).toBe("2]");
  });

  test("a browser that does not read slows the gateway down, and no memory grows", async () => {
    const stuck = Promise.withResolvers<number>();
    script = (_req, res) => {
      let written = 0;
      const piece = Buffer.alloc(256 * 1024);
      const write = (): void => {
        while (written < 256 * 1024 * 1024) {
          written += piece.length;
          if (!res.write(piece)) {
            const waiting = setTimeout(() => stuck.resolve(written), 500);
            res.once("drain", () => {
              clearTimeout(waiting);
              write();
            });
            return;
          }
        }
        stuck.resolve(written);
      };
      res.on("error", () => undefined);
      write();
    };
    const outgoing = open(at("admin", "/query"), "POST").end();
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    incoming.pause().on("error", () => undefined);
    expect(await stuck.promise).toBeLessThan(64 * 1024 * 1024);
    outgoing.destroy();
  }, 30_000);

  test("a client that leaves, before the answer or in its middle, aborts the request at the gateway", async () => {
    for (const begins of [false, true]) {
      const closed = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      script = (_req, res) => {
        if (begins) res.writeHead(200).write("x");
        res.on("close", () => closed.resolve());
        arrived.resolve();
      };
      const outgoing = open(at("ingress", "/Slow/wait"), "POST").on("error", () => undefined);
      outgoing.end();
      await (begins ? once(outgoing, "response") : arrived.promise);
      outgoing.destroy();
      await closed.promise;
    }
  });

  test("ends with its session, begun or not, and with no other session of the user", async () => {
    const streams: ServerResponse[] = [];
    script = (req, res) => {
      if (req.url !== "/begun") return; // Never answered.
      streams.push(res);
      res.writeHead(200, { "content-type": "application/json" }).write("[");
    };
    const mine = new ConsolePage(cloud.origin);
    await mine.browser.submit("/login", "/login", { email: "ada@perdure.test", password: CONSOLE_PASSWORD });
    await mine.load();
    const theirs = open(at("admin", "/begun"), "GET", { cookie: mine.cookie, "x-perdure-csrf": mine.csrf }).end();
    const [cut] = (await once(theirs, "response")) as [IncomingMessage];
    const waits = mine.request("POST", at("ingress", "/waits"));
    const kept = open(at("admin", "/begun")).end();
    const [stays] = (await once(kept, "response")) as [IncomingMessage];
    const broke = once(cut.resume(), "error");
    const gone = once(streams[0] as ServerResponse, "close");
    // From another page, as from another process.
    const { sessions } = (await page.request("GET", "/console/sessions")).json;
    const { sessionId } = sessions.find((one: { isCurrent: boolean; kind: string }) => !one.isCurrent && one.kind === "browser");
    expect((await page.post("/console/sessions/end", { sessionId })).status).toBe(204);
    expect((await broke)[0]).toMatchObject({ code: "ECONNRESET" });
    await gone;
    expect(await waits).toMatchObject({ status: 401, code: "PERD0401" });
    streams[1]?.end("]");
    expect(await text(stays)).toBe("[]");
  }, 30_000);

  test("an answer that breaks off at the gateway breaks off at the browser", async () => {
    script = (_req, res) => {
      res.writeHead(200, { "content-type": "application/json" }).write("[1,");
      setImmediate(() => res.destroy());
    };
    await expect(page.request("POST", at("admin", "/query"))).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });

  test("a gateway that breaks off before it answers, is unreachable, or sends nothing is reported as an error", async () => {
    script = (req) => void req.socket.destroy();
    expect(await page.request("GET", at("admin", "/x"))).toMatchObject({ status: 502, code: "PERD0502" });
    const slow = Promise.withResolvers<void>();
    script = (_req, res) => void res.on("close", () => slow.resolve());
    const timers = hurried(PROXIED_HEADERS_MS);
    try {
      expect(await page.request("GET", at("admin", "/x"))).toMatchObject({ status: 504, code: "PERD0504" });
      await slow.promise;
    } finally {
      timers();
    }
    await using away = await openTestTenancy(database.url, {
      console: { gateway: { host: "127.0.0.1", scheme: "http", ports: { ingress: 1, admin: 1 } } },
    });
    const there = new ConsolePage(away.origin, page.browser);
    there.csrf = page.csrf;
    const refused = await there.request("GET", at("admin", "/x"));
    expect(refused).toMatchObject({ status: 503, code: "PERD0503", headers: { "retry-after": "1" } });
  });

  /** Fires timers of this length at once, until the returned function is called. */
  function hurried(ms: number): () => void {
    const { clock } = cloud;
    clock.setTimer = (delayMs, fire) => MovableClock.prototype.setTimer.call(clock, delayMs === ms ? 50 : delayMs, fire);
    return () => {
      clock.setTimer = MovableClock.prototype.setTimer;
    };
  }

  test("a body above every plan is refused: at once if its length is declared, else when it is too long", async () => {
    const declared = await page.request(
      "POST",
      at("ingress", "/x"),
      { "content-length": String(PROXIED_BODY_BYTES_MAX + 1) },
      "",
    );
    expect(declared).toMatchObject({ status: 413, code: "PERD0413" });
    expect(requests).toEqual([]);
    const cut = Promise.withResolvers<void>();
    script = (req) =>
      void req
        .on("close", () => cut.resolve())
        .on("error", () => undefined)
        .resume();
    const outgoing = open(at("ingress", "/x"), "POST", { "transfer-encoding": "chunked" }).on("error", () => undefined);
    const answered = once(outgoing, "response");
    const piece = Buffer.alloc(1024 * 1024);
    let isAnswered = false;
    answered.then(() => {
      isAnswered = true;
    });
    for (let n = 0; n <= PROXIED_BODY_BYTES_MAX / piece.length && !isAnswered; n++) {
      if (!outgoing.write(piece)) await Promise.race([once(outgoing, "drain"), answered]);
    }
    const [incoming] = (await answered) as [IncomingMessage];
    expect(incoming.statusCode).toBe(413);
    await cut.promise;
    outgoing.destroy();
  }, 30_000);

  test("a body without a length arrives whole", async () => {
    script = (req, res) => {
      let size = 0;
      req.on("data", (chunk: Buffer) => {
        size += chunk.length;
      });
      req.on("end", () => res.end(JSON.stringify({ size, length: req.headers["content-length"] ?? null })));
    };
    const outgoing = open(at("ingress", "/x"), "POST", { "transfer-encoding": "chunked" });
    for (let n = 0; n < 8; n++) outgoing.write(Buffer.alloc(512 * 1024));
    outgoing.end();
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of incoming) text += String(chunk);
    expect(JSON.parse(text)).toEqual({ size: 4 * 1024 * 1024, length: null });
  });
});

test("over TLS the gateway receives the environment's name, and is trusted by its authority alone", async () => {
  const [own, strange] = [selfSigned("*.env.us.perdure.test"), selfSigned("*.env.us.perdure.test")];
  const names: unknown[] = [];
  const secure = createSecureServer({ cert: own.certificate, key: own.privateKey }, (req, res) => {
    names.push((req.socket as TLSSocket & { servername?: string }).servername);
    res.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  secure.listen(0, "127.0.0.1");
  await once(secure, "listening");
  const port = portOf(secure);
  const link = { host: "127.0.0.1", scheme: "https", ports: { ingress: port, admin: port } } as const;
  for (const [authority, status] of [
    [own.certificate, 200],
    [strange.certificate, 502],
    [undefined, 502],
  ] as const) {
    const options = authority === undefined ? {} : { gatewayAuthority: authority };
    await using one = await openTestTenancy(database.url, { console: { gateway: link, ...options } });
    const there = new ConsolePage(one.origin, page.browser);
    there.csrf = page.csrf;
    expect((await there.request("GET", at("admin", "/x"))).status).toBe(status);
  }
  expect(names).toEqual([`${bareOf(environment)}.env.us.perdure.test`]);
  secure.closeAllConnections();
  await new Promise((resolve) => secure.close(resolve));
});
