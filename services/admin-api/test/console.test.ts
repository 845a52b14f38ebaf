/** Address and configuration of the console, and the answers where it is missing (admin-api.md §2). */
import { afterEach, describe, expect, test } from "@jest/globals";
import { silentLogger, systemClock } from "@perdure/base";
import { TINY_SCRIPT_PATH, type TinyConsole, writeTinyConsole } from "@perdure/console-host/testing";
import { createHttpPort } from "@perdure/http-server";
import { createTestRegistry } from "@perdure/registry/testing";
import { openAdminConsole } from "../src/console/serve.js";
import { createTestAdminApi, startHttp2Server, startServer, type TestAdminSetup, type TestServer } from "../src/testing/index.js";

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function tiny(): Promise<TinyConsole> {
  const written = await writeTinyConsole();
  closing.push(written);
  return written;
}

async function open(setup: Partial<TestAdminSetup> = {}, start = startServer): Promise<TestServer> {
  const { directory } = await tiny();
  const console = await openAdminConsole(directory, silentLogger);
  const server = await start(createTestAdminApi({ registry: await createTestRegistry(), console, ...setup }));
  closing.push(server);
  return server;
}

const bootOf = (page: string): unknown => JSON.parse(/id="boot">(.*?)<\/script>/s.exec(page)?.[1] ?? "null");

describe("the console", () => {
  test.each([["HTTP/1.1", startServer] as const, ["HTTP/2", startHttp2Server] as const])(
    "is served over %s",
    async (_version, start) => {
      const { send } = await open({}, start);
      const page = await send("GET", "/ui/invocations/inv_1?a=b");
      expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
      expect(page.text).toContain('<base href="/ui/">');
      const script = await send("GET", `/ui/${TINY_SCRIPT_PATH}`, undefined, { "accept-encoding": "br" });
      expect([script.status, script.headers["content-encoding"]]).toEqual([200, "br"]);
      expect((await send("HEAD", "/ui/")).status).toBe(200);
    },
  );

  test("gets the address of the ingress, and may call it", async () => {
    const { send } = await open();
    const { text, headers } = await send("GET", "/ui/");
    expect(bootOf(text)).toEqual({
      kind: "local",
      ingressUrl: "http://localhost:21600/",
      canCrash: true,
      version: "0.1.0",
      docsUrl: "https://docs.example",
    });
    expect(headers["content-security-policy"]).toContain("connect-src 'self' http://localhost:21600;");
  });

  test("gets the address of traces, when it is configured", async () => {
    const traceUrl = "https://jaeger.example/trace/{traceId}";
    const { send } = await open({ options: { traceUrl } });
    expect(bootOf((await send("GET", "/ui/")).text)).toMatchObject({ kind: "local", traceUrl });
  });

  test.each([
    ["box.corp.example:9070", "http://box.corp.example:8081/"],
    ["127.0.0.1:9070", "http://127.0.0.1:8081/"],
    ["[::1]:9070", "http://[::1]:8081/"],
    ["a b;script-src *", "http://localhost:8081/"],
    ["1.2.3.4.5", "http://localhost:8081/"],
    ["[::::]:9070", "http://localhost:8081/"],
  ])("finds the ingress of this machine at the name it came by: %s", async (host, ingressUrl) => {
    const { send } = await open({ crashAttempt: null, options: { ingressPort: () => 8081 } });
    const { text, headers } = await send("GET", "/ui/", undefined, { host });
    expect(bootOf(text)).toMatchObject({ ingressUrl, canCrash: false });
    expect(headers["content-security-policy"]).toContain(`connect-src 'self' ${ingressUrl.slice(0, -1)};`);
  });

  test("has one address, whatever version of the interface is requested", async () => {
    const { send } = await open();
    const { status, headers } = await send("GET", "/v4/ui/services/a%2Fb?x=1");
    expect([status, headers.location]).toEqual([308, "/ui/services/a%2Fb?x=1"]);
    expect((await send("GET", "/v2/ui/")).headers.location).toBe("/ui/");
    expect((await send("GET", "/v3/ui")).headers.location).toBe("/ui/");
    expect((await send("GET", "/v1/ui/")).status).toBe(400);
  });

  test("takes no other methods", async () => {
    const { send } = await open();
    for (const path of ["/ui/", "/ui/services"]) {
      const { status, headers } = await send("POST", path);
      expect([status, headers.allow]).toEqual([405, "GET,HEAD"]);
    }
  });

  test("that is missing is reported as missing, with the way to get it", async () => {
    const { send } = await open({ console: undefined });
    for (const path of ["/ui/", "/ui/assets/x.js"]) {
      const answer = await send("GET", path);
      expect(answer.status).toBe(404);
      expect(answer.json()).toEqual({ message: expect.stringContaining("admin.disable-web-ui"), restate_code: null });
    }
    expect((await send("GET", "/")).headers.location).toBe("/ui/");
  });

  test("is served by the port that the process opens", async () => {
    const { directory } = await tiny();
    const console = await openAdminConsole(directory, silentLogger);
    const request = createTestAdminApi({ registry: await createTestRegistry(), console });
    const port = createHttpPort({ request }, { clock: systemClock, logger: silentLogger });
    const { port: at } = await port.listen({ host: "127.0.0.1", port: 0 });
    expect(await (await fetch(`http://127.0.0.1:${at}/ui/x`)).text()).toContain("<title>Perdure</title>");
    await port.close(0);
  });

  test("that was not built, or is damaged, does not prevent the start", async () => {
    const { directory } = await tiny();
    expect(await openAdminConsole(`${directory}/nowhere`, silentLogger)).toBeUndefined();
    expect(await openAdminConsole(`${directory}/index.html`, silentLogger)).toBeUndefined();
  });
});
