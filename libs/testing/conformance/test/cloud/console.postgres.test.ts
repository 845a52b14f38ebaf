/** The console's listener in the cloud: the requests of a browser page to an environment, through tenancy, gateway and runtime. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import { ConsolePage, type PageAnswer } from "@perdure/tenancy/testing";
import { handlers, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint } from "../../src/index.js";
import { CloudWorld } from "./cloud-world.js";

const TEST_MS = 120_000;
const PAGE = "<!doctype html><script>document.title = 'run'</script>";

const html = {
  contentType: "text/html",
  serialize: (text: string) => new TextEncoder().encode(text),
  deserialize: (bytes: Uint8Array) => new TextDecoder().decode(bytes),
};
const shop = service({
  name: "Shop",
  handlers: {
    headers: handlers.handler({}, async (ctx) => Object.fromEntries(ctx.request().headers)),
    page: handlers.handler({ output: html }, async () => PAGE),
  },
});

let world: CloudWorld;
let endpoint: SdkEndpoint;
let owner: ConsolePage;
let account: string;
let environment: EnvironmentId;

const at = (api: "admin" | "ingress", path: string): string => `/console/environments/${environment}/${api}${path}`;
const operation = (page: ConsolePage, name: string, body: object = {}): Promise<PageAnswer> =>
  page.post(`/console/cloud/${account}/${name}`, body);

beforeAll(async () => {
  [world, endpoint] = await Promise.all([CloudWorld.start(), SdkEndpoint.start({ services: [shop] })]);
  owner = await ConsolePage.of(world.apiUrl, "owner@perdure.test");
  account = (await owner.post("/console/cloud/ListAccounts")).json.accounts[0].accountId;
  environment = (await operation(owner, "CreateEnvironment", { name: "dev", region: "us" })).json.environmentId;
  const isActive = async () =>
    (await operation(owner, "DescribeEnvironment", { environmentId: environment })).json.status === "ACTIVE" ? true : undefined;
  await eventually("the environment is active", isActive, TEST_MS);
}, TEST_MS);
afterAll(async () => {
  await endpoint?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
}, TEST_MS);

describe("a user's page", () => {
  test(
    "registers, calls, queries and reads, and nothing of its session reaches a handler",
    async () => {
      const headers = { "x-secret": "sesame" };
      const registered = await owner.post(at("admin", "/deployments"), { uri: endpoint.url, additional_headers: headers });
      expect([registered.status, registered.text.includes("Shop")]).toEqual([201, true]);
      const called = await owner.post(
        at("ingress", "/Shop/headers"),
        {},
        { origin: "https://api.us.perdure.test", "x-mine": "kept" },
      );
      expect(called.status).toBe(200);
      expect(called.json).toMatchObject({ "x-mine": "kept" });
      const names = Object.keys(called.json);
      for (const gone of ["cookie", "authorization", "x-perdure-csrf", "origin", "referer", "sec-fetch-site"])
        expect(names).not.toContain(gone);
      expect(called.text).not.toMatch(/perdure_session|eyJ/);
      expect(called.headers["x-restate-id"]).toMatch(/^inv_/);
      const answer = await owner.post(
        at("admin", "/query"),
        { query: "SELECT target, status FROM sys_invocation" },
        { accept: "application/json" },
      );
      expect(answer.json.rows).toMatchObject([{ target: "Shop/headers" }]);
      expect((await owner.request("GET", at("admin", "/v4/deployments"))).text).toContain("sesame");
      const sent = await owner.post(at("ingress", "/Shop/headers/send"), {}, { "idempotency-key": "once" });
      expect([sent.status, sent.json.status]).toEqual([202, "Accepted"]);
    },
    TEST_MS,
  );

  test(
    "T31: what a handler answers as a page is a file, in which nothing runs",
    async () => {
      const { status, text, headers } = await owner.post(at("ingress", "/Shop/page"));
      expect([status, text]).toEqual([200, PAGE]);
      expect(headers).toMatchObject({
        "content-type": "text/html",
        "content-disposition": "attachment",
        "content-security-policy": expect.stringMatching(/default-src 'none'.*sandbox/),
        "x-content-type-options": "nosniff",
      });
      // A link from another site does not get there.
      const opened = await owner.request("GET", at("ingress", "/Shop/page"), { "x-perdure-csrf": "", "sec-fetch-site": "none" });
      expect([opened.status, opened.code]).toEqual([403, "PERD0403"]);
    },
    TEST_MS,
  );

  test(
    "of a viewer is read-only; of a user of another account shows nothing; neither does that of a member who was removed",
    async () => {
      const [viewer, otherUser] = await Promise.all(
        ["viewer@perdure.test", "other@perdure.test"].map((email) => ConsolePage.of(world.apiUrl, email)),
      );
      if (viewer === undefined || otherUser === undefined) throw new Error("no page was opened");
      expect(await otherUser.request("GET", at("admin", "/services"))).toMatchObject({ status: 404, code: "PERD0404" });
      const { userId } = (await viewer.load()).json.user;
      const { token } = (await operation(owner, "InviteMember", { email: "viewer@perdure.test", role: "viewer" })).json;
      expect((await viewer.post("/console/cloud/AcceptInvitation", { token })).status).toBe(200);

      expect((await viewer.request("GET", at("admin", "/services"))).text).toContain("Shop");
      expect((await viewer.post(at("admin", "/query"), { query: "SELECT 1 AS one" })).status).toBe(200);
      const masked = (await viewer.request("GET", at("admin", "/v4/deployments"))).text;
      expect([masked.includes("***"), masked.includes("sesame")]).toEqual([true, false]);
      const views = at("admin", "/v4/console-documents/views");
      const stored = JSON.stringify({ expected_version: 0, value: "[1]" });
      expect((await owner.request("PUT", views, { "content-type": "application/json" }, stored)).status).toBe(200);
      expect((await viewer.request("GET", views)).json).toMatchObject({ value: "[1]" });
      for (const [method, path] of [
        ["POST", at("admin", "/deployments")],
        ["PUT", views],
        ["PATCH", at("admin", "/services/Shop")],
        ["DELETE", at("admin", "/invocations/inv_1")],
        ["POST", at("ingress", "/Shop/headers")],
      ] as const) {
        const refused = await viewer.request(method, path, { "content-type": "application/json" }, "{}");
        expect([path, refused]).toMatchObject([path, { status: 403, code: "PERD0403" }]);
      }
      expect((await operation(owner, "RemoveMember", { userId })).status).toBe(200);
      expect(await viewer.request("GET", at("admin", "/services"))).toMatchObject({ status: 404, code: "PERD0404" });
    },
    TEST_MS,
  );

  test(
    "is over at once when its session is, and the gateway's log names the user alone",
    async () => {
      const page = await ConsolePage.of(world.apiUrl, "leaving@perdure.test");
      const kept = page.cookie;
      expect((await page.post("/console/logout")).status).toBe(204);
      expect(await page.request("GET", at("admin", "/services"), { cookie: kept })).toMatchObject({
        status: 401,
        code: "PERD0401",
      });
      const { userId } = (await owner.load()).json.user;
      expect(world.log).toContain(userId);
      expect(world.log).not.toMatch(/eyJ|perdure_session/);
      expect(world.tenancy.lines.join("\n")).not.toMatch(/eyJ|correct horse/);
    },
    TEST_MS,
  );
});
