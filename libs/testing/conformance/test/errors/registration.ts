/** Codes of refused registrations and of warnings about accepted ones. */
import { createServer } from "node:http";
import { describe, expect, test } from "@jest/globals";
import { type Context, handlers, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import {
  adminErrorOf,
  type FakeLambda,
  type HttpAnswer,
  MANIFEST_TYPE,
  manifestOf,
  RawEndpoint,
  type RawEndpointOptions,
  SdkEndpoint,
  type ServiceDefinitions,
  TestListener,
  type TestWorld,
} from "../../src/index.js";
import { provoked } from "./codes.js";

const CLOSED_PORT_URL = "http://127.0.0.1:1";
const HOUR_MS = 3_600_000;

function expectRefusal(answer: HttpAnswer, status: number, code: string): string {
  expect([answer.status, adminErrorOf(answer).restate_code]).toEqual([status, code]);
  const { message } = adminErrorOf(answer);
  expect(message).toContain(`[${code}]`);
  provoked.add(code);
  return message;
}

const echo = async (_ctx: Context, value: unknown) => value;
const versionOne = (name: string) => service({ name, handlers: { first: echo, second: echo } });

export function describeRegistrationErrors(getWorld: () => TestWorld, getLambda: () => FakeLambda): void {
  const register = (uri: string, over: object = {}) => getWorld().admin.tryRegister({ uri, ...over });
  const serve = async (services: ServiceDefinitions, port?: number) =>
    getWorld().own(await SdkEndpoint.start({ services, ...(port === undefined ? {} : { port }) }));
  async function answering(options: Partial<RawEndpointOptions>): Promise<string> {
    return getWorld().own(await RawEndpoint.start({ scripts: {}, ...options })).url;
  }
  async function listen(server: Parameters<typeof TestListener.open>[0]): Promise<string> {
    const listener = await TestListener.open(server, 0);
    getWorld().own({ [Symbol.asyncDispose]: () => listener.close() });
    return `http://127.0.0.1:${listener.port}`;
  }

  describe("a registration is refused", () => {
    test("META0003: no response, or one with a bad status", async () => {
      expectRefusal(await register(CLOSED_PORT_URL), 500, "META0003");
      expect(
        expectRefusal(await register(await answering({ discovery: { status: 404, body: "go away" } })), 500, "META0003"),
      ).toContain("go away");
    });

    test("META0004: the destination is known, until force says otherwise", async () => {
      const endpoint = await serve([versionOne("Known")]);
      expect((await register(endpoint.url)).status).toBe(201);
      expectRefusal(await register(endpoint.url), 409, "META0004");
      expect((await register(endpoint.url, { force: true })).status).toBe(200);
    });

    test("META0005: a name that is reserved", async () => {
      for (const name of ["restateOwn", "OpenAPI"]) {
        const uri = await answering({ scripts: { [name]: () => {} } });
        expectRefusal(await register(uri), 400, "META0005");
      }
    });

    test("META0006: a new revision changes the type or loses a handler, until breaking says otherwise", async () => {
      expect((await register((await serve([versionOne("Grows")])).url)).status).toBe(201);
      const poorer = await serve([service({ name: "Grows", handlers: { first: echo } })]);
      expect(expectRefusal(await register(poorer.url), 409, "META0006")).toContain("second");
      const keyed = await serve([
        object({ name: "Grows", handlers: { first: async (ctx: ObjectContext) => ctx.key, second: async () => 1 } }),
      ]);
      expectRefusal(await register(keyed.url), 409, "META0006");
      expectRefusal(await register(keyed.url, { dry_run: true }), 409, "META0006");
      expect((await register(poorer.url, { breaking: true })).status).toBe(201);
    });

    test("META0009: a subscription without cluster or handler", async () => {
      const subscribe = (source: string, sink: string) => getWorld().admin.post("/subscriptions", { source, sink });
      expectRefusal(await subscribe("amqp://cluster/topic", "service://EchoHealthy/echo"), 400, "META0009");
      expect((await subscribe("kafka://cluster/topic", "service://EchoHealthy/echo")).status).toBe(400);
    });

    test("META0012: no common protocol version", async () => {
      const uri = await answering({ manifest: { minProtocolVersion: 1, maxProtocolVersion: 4 } });
      expect(expectRefusal(await register(uri), 500, "META0012")).toMatch(/5.*7/);
    });

    test("META0013: no manifest", async () => {
      expectRefusal(
        await register(await answering({ discovery: { contentType: "text/html", body: "<html>" } })),
        500,
        "META0013",
      );
      expectRefusal(await register(await answering({ manifest: { protocolMode: undefined } })), 500, "META0013");
    });

    test("META0014: an HTTP/1.1 server, called in HTTP/2", async () => {
      const uri = await listen(createServer((_request, response) => response.end("hello")));
      expectRefusal(await register(uri), 500, "META0014");
    });

    test("META0015: both ways at a time over AWS Lambda", async () => {
      const manifest = JSON.stringify(manifestOf(["OldWays"]));
      const arn = getLambda().add("old-ways", async () => ({
        statusCode: 200,
        headers: { "content-type": MANIFEST_TYPE },
        body: manifest,
      }));
      expectRefusal(await getWorld().admin.post("/deployments", { arn }), 500, "META0015");
    });

    test("META0016: an update in place that is not like what was there", async () => {
      const before = await serve([versionOne("InPlace")]);
      const { id } = (await register(before.url)).json as { id: string };
      const update = (uri: string) => getWorld().admin.patch(`/deployments/${id}`, { uri, overwrite: true });
      const poorer = await serve([service({ name: "InPlace", handlers: { first: echo } })]);
      expect(expectRefusal(await update(poorer.url), 400, "META0016")).toContain("second");
      const other = await serve([versionOne("Elsewhere")]);
      expectRefusal(await update(other.url), 400, "META0016");
      const narrower = await SdkEndpoint.start({ services: [versionOne("InPlace")], protocolVersion: 6 });
      getWorld().own(narrower);
      expectRefusal(await update(narrower.url), 400, "META0016");
      const alike = await serve([versionOne("InPlace")]);
      expect((await update(alike.url)).status).toBe(200);
    });

    test("META0017: force where two deployments share the destination", async () => {
      const [one, two] = [await serve([versionOne("Twin")]), await serve([versionOne("Twin")])];
      const { id } = (await register(one.url)).json as { id: string };
      expect((await register(two.url)).status).toBe(201);
      expect((await getWorld().admin.patch(`/deployments/${id}`, { uri: two.url })).status).toBe(200);
      expectRefusal(await register(two.url, { force: true }), 409, "META0017");
      await getWorld().admin.delete(`/deployments/${id}?force=true`);
      expect((await register(two.url, { force: true })).status).toBe(200);
    });
  });

  describe("a registration reports", () => {
    const notices = async (name: string) => {
      const { info } = (await getWorld().admin.get(`/services/${name}`)).json as { info?: { code: string }[] };
      return (info ?? []).map(({ code }) => code);
    };

    test("RT0021: request-response mode has no inactivity timeout", async () => {
      const services = [
        service({
          name: "Hasty",
          handlers: { hi: handlers.handler({ inactivityTimeout: 10 }, async () => 1) },
          options: { inactivityTimeout: 20 },
        }),
      ];
      await getWorld().deploy({ services, kind: "h1-request-response" });
      expect(await notices("Hasty")).toContain("RT0021");
      provoked.add("RT0021");
    });

    test("RT0022: a journal kept shorter than it requested", async () => {
      await getWorld().deploy({
        services: [service({ name: "Archive", handlers: { hi: async () => 1 }, options: { journalRetention: 48 * HOUR_MS } })],
      });
      expect(await notices("Archive")).toContain("RT0022");
      provoked.add("RT0022");
    });
  });
}
