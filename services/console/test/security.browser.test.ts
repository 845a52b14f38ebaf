/**
 * The console shows text of untrusted clients (keys, names, messages, values), and its API executes every accepted request. So each text in
 * this suite is an attack and every page is opened; and pages of other origins try to use the API.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import type { Page } from "playwright-core";
import { suiteConsole } from "./console.js";
import { HOSTILE, hostile, PAYLOADS } from "./world/hostile.js";

/** A server of another origin, whose answers the test chooses. */
let attackerServer: Server;
let attackerHtml = "";
beforeAll(async () => {
  attackerServer = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(attackerHtml));
  await new Promise<void>((resolve) => attackerServer.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  attackerServer.closeAllConnections();
  await new Promise((resolve) => attackerServer.close(resolve));
});
const ui = suiteConsole({ world: "empty" });

const attackerUrl = () => `http://127.0.0.1:${(attackerServer.address() as AddressInfo).port}/`;

const isAttacked = (page: Page) => page.evaluate("window.pwned !== undefined");

interface Left {
  readonly deployment: string;
  readonly invocations: readonly string[];
}

/** All text that an attacker can store. */
async function leaveEverything(): Promise<Left> {
  const { world } = ui;
  const { id } = await world.deploy({ services: [hostile] }, { additional_headers: { "x-hostile": HOSTILE } });
  const headers = { "x-hostile": HOSTILE, tracestate: "a=b" };
  const send = async (handler: string) => {
    const options = { headers, idempotencyKey: `${handler} ${HOSTILE}` };
    return (await world.ingress.send(["Hostile", HOSTILE, handler], HOSTILE, options)).invocationId;
  };
  const done = await Promise.all([send("leave"), send("fail")]);
  await Promise.all(done.map((each) => world.ingress.attach(each)));
  const flailing = (await world.ingress.send(["Hostile", "flail", "flail"], HOSTILE)).invocationId;
  const waiting = (await world.ingress.send(["Hostile", "wait", "wait"], HOSTILE)).invocationId;
  await eventually("a first failure", async () => (await world.admin.row(flailing))?.["last_failure"] !== undefined);
  const rules = [{ pattern: "hostile", description: HOSTILE, limits: { concurrency: 1 } }];
  const answers = await Promise.all([
    world.admin.post("/schedules", {
      name: PAYLOADS[0],
      description: HOSTILE,
      cron: "0 0 1 1 *",
      target: { service: "Hostile", key: HOSTILE, handler: "fail" },
      payload: HOSTILE,
    }),
    world.admin.http.request("PUT", "/limits/rules", { json: rules }),
  ]);
  // The server refuses these, so they cannot appear on a page.
  for (const { status, text } of answers) if (status >= 300) throw new Error(text);
  return { deployment: id, invocations: [...done, flailing, waiting] };
}

test("no stored text becomes an element of a page", async () => {
  const { deployment, invocations } = await leaveEverything();
  const text = encodeURIComponent(HOSTILE);
  const sql = encodeURIComponent("SELECT * FROM sys_invocation");
  const pages = [
    ...["/", "/services", "/services/Hostile", `/services/${text}`, `/playground?service=Hostile&handler=leave&key=${text}`],
    ...["/deployments", `/deployments/${deployment}`, `/deployments/${text}`],
    ...["/invocations", `/invocations?service=${text}&key=${text}`, `/invocations?filter=${text}`, `/invocations/${text}`],
    ...invocations.map((id) => `/invocations/${id}`),
    ...[
      "/state",
      "/state?service=Hostile",
      `/state/Hostile/${text}`,
      "/promises",
      "/awakeables",
      "/schedules",
      "/flow",
      "/subscriptions",
    ],
    ...[`/sql?q=${sql}`, `/sql?q=${text}`, "/tour", `/errors/${text}`, `/${text}`],
  ];
  // Windows of one user: what a page stores in the browser is an attack on the next one.
  const page = await (await ui.browser.newContext({ mayFail: true })).newPage();
  const payloadCounts = new Map<string, number>();
  for (const path of pages) {
    await page.goto(ui.url(path));
    await page.getByRole("main").locator("h1, [role=alert]").first().waitFor();
    await page.waitForLoadState("networkidle");
    payloadCounts.set(path, await page.getByText(PAYLOADS[0]).count());
    const parts = await page.evaluate(() => ({
      injectedCount: document.querySelectorAll("img, iframe, object, embed, main script, svg[onload], [onerror]").length,
      links: [...document.querySelectorAll<HTMLAnchorElement>("a[href]")]
        .map(({ href }) => href)
        .filter((href) => !/^https?:/.test(href)),
    }));
    expect([path, parts, await isAttacked(page)]).toEqual([path, { injectedCount: 0, links: [] }, false]);
  }
  // The texts were really on the page.
  expect([...payloadCounts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(10);
  for (const path of ["/services/Hostile", "/state?service=Hostile", "/schedules", "/flow"]) {
    expect([path, (payloadCounts.get(path) ?? 0) > 0]).toEqual([path, true]);
  }
});

test("a page of another origin can neither change nor read anything through the user's browser", async () => {
  const { deployments: before } = (await ui.world.admin.get("/deployments")).json as { deployments: unknown[] };
  const origin = new URL(ui.url("/")).origin;
  attackerHtml = `<form method="post" enctype="text/plain" action="${origin}/deployments"><input name='{"uri":"http://127.0.0.1:9","x":"' value='"}'></form>`;
  const page = await ui.browser.open(attackerUrl(), { mayFail: true });
  const refused = page.waitForResponse(`${origin}/deployments`);
  await page.evaluate(() => document.forms[0]?.submit());
  expect((await refused).status()).toBe(403);
  await page.waitForURL(`${origin}/deployments`);
  await page.goto(attackerUrl());
  const outcome = await page.evaluate(async (url) => {
    const ways: RequestInit[] = [
      {},
      { method: "POST", body: "{}" },
      { method: "DELETE" },
      { mode: "no-cors", method: "POST", body: "{}" },
    ];
    const one = (way: RequestInit) =>
      fetch(`${url}/deployments`, way).then(
        ({ type }) => type,
        () => "refused",
      );
    return Promise.all(ways.map(one));
  }, origin);
  expect(outcome).toEqual(["refused", "refused", "refused", "opaque"]);
  expect(((await ui.world.admin.get("/deployments")).json as { deployments: unknown[] }).deployments).toEqual(before);
  ui.browser.takeComplaints(); // Of the other origin's page, which is not the console.
});

test("a foreign name that resolves to this machine is refused", async () => {
  const { port } = new URL(ui.url("/"));
  const page = await ui.browser.open(`http://rebound.test:${port}/ui/`, { mayFail: true });
  const answers = await page.evaluate(async () => {
    const request = async (url: string, way: RequestInit = {}) => {
      const answer = await fetch(url, way);
      return `${answer.status} ${((await answer.json()) as { restate_code?: string }).restate_code}`;
    };
    return [await request("/deployments"), await request("/v4/query", { method: "POST", body: "{}" })];
  });
  expect(answers).toEqual(["403 OPS0101", "403 OPS0101"]);
  ui.browser.takeComplaints(); // The page belongs to another origin.
});

test("no page can put the console into a frame", async () => {
  attackerHtml = `<iframe src="${ui.url("/")}"></iframe>`;
  const page = await ui.browser.open(attackerUrl(), { mayFail: true });
  await eventually("a refusal", () => ui.browser.takeComplaints().some((what) => what.includes("frame-ancestors")));
  expect(await page.frames()[1]?.locator("#root").count()).toBe(0);
});

test("no address of the console leads elsewhere", async () => {
  const origin = new URL(ui.url("/")).origin;
  for (const path of [
    "//evil.test",
    "/ui//evil.test",
    "/ui/..//evil.test",
    "/v4/ui//evil.test/",
    "/\\evil.test",
    "/ui/%2f%2fevil.test",
  ]) {
    const { headers } = await fetch(`${origin}${path}`, { redirect: "manual" });
    const location = headers.get("location");
    if (location !== null) expect([path, new URL(location, origin).origin]).toEqual([path, origin]);
  }
  const page = await ui.open("//evil.test/", { mayFail: true });
  await page.getByRole("main").locator("h1").waitFor();
  expect(new URL(page.url()).origin).toBe(origin);
});
