/**
 * A slow server and a failing one must look different. Every page of an environment is opened before a server that does not answer yet, and
 * before one that fails; each then continues, by itself or after a retry.
 */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "@jest/globals";
import type { Locator, Page } from "playwright-core";
import { expectAccessible, suiteConsole } from "./console.js";

const ui = suiteConsole({ settings: { "worker.invoker.inactivity-timeout": "500ms" } });

/** A page may send several requests one after the other, on a busy machine. */
const CONTENT_MS_MAX = 20_000;
const FAILURE = { message: "the disk is full", restate_code: "STO0004", request_id: "req_7" };

let deployment = "";
beforeAll(async () => {
  const { admin } = ui.world;
  const { deployments } = (await admin.get("/deployments")).json as { deployments: { id: string }[] };
  deployment = deployments[0]?.id ?? "";
  const target = { service: "Payments", handler: "flaky" };
  const made = [
    await admin.post("/schedules", { name: "yearly", cron: "0 0 1 1 *", target }),
    await admin.http.request("PUT", "/limits/rules", { json: [{ pattern: "acme", limits: { concurrency: 1 } }] }),
  ];
  for (const { status, text } of made) if (status >= 300) throw new Error(text);
});

interface PageCase {
  /** Path as in the table of pages. */
  readonly route: string;
  readonly path: () => string;
  /** Text on the page after the server has answered. */
  readonly content: (page: Page) => Locator;
  /** A page that requests nothing before this button is pressed. */
  readonly press?: string;
}

const region = (name: string) => (page: Page) => page.getByRole("region", { name });
const link = (name: string) => (page: Page) => page.getByRole("main").getByRole("link", { name, exact: true });

const PAGES: readonly PageCase[] = [
  { route: "/", path: () => "/", content: region("Needs attention") },
  { route: "/services", path: () => "/services", content: link("Orders") },
  { route: "/services/:service", path: () => "/services/Orders", content: region("Input of place") },
  {
    route: "/playground",
    path: () => "/playground?service=Orders&handler=place",
    content: (page) => page.getByLabel("item", { exact: true }),
  },
  { route: "/deployments", path: () => "/deployments", content: (page) => page.getByRole("row").getByText("Orders") },
  {
    route: "/deployments/:deployment",
    path: () => `/deployments/${deployment}`,
    content: region("Invocations in flight on it"),
  },
  { route: "/invocations", path: () => "/invocations?service=Signup", content: (page) => page.getByText("2 invocations") },
  {
    route: "/invocations",
    path: () => "/invocations?batches",
    content: (page) => page.getByRole("heading", { name: "No batches" }),
  },
  {
    route: "/operations",
    path: () => "/operations",
    content: (page) => page.getByRole("heading", { name: "Nothing to undo" }),
  },
  {
    route: "/invocations/:invocation",
    path: () => `/invocations/${ui.data.placed}`,
    content: (page) => page.getByRole("treeitem", { name: /^run 'pack it'/ }),
  },
  { route: "/state", path: () => "/state?service=Stock", content: link("chair") },
  {
    route: "/state/:service/:key",
    path: () => "/state/Stock/chair",
    content: (page) => page.getByRole("row", { name: /^left/ }),
  },
  { route: "/promises", path: () => "/promises", content: (page) => page.getByRole("row", { name: /ada/ }) },
  { route: "/awakeables", path: () => "/awakeables", content: (page) => page.getByRole("row", { name: /Orders\/approve/ }) },
  { route: "/schedules", path: () => "/schedules", content: (page) => page.getByRole("img", { name: /^yearly: / }) },
  { route: "/flow", path: () => "/flow", content: (page) => page.getByRole("row", { name: /^acme 1 no limit/ }) },
  {
    route: "/subscriptions",
    path: () => "/subscriptions",
    content: (page) => page.getByRole("heading", { name: "No subscriptions yet" }),
  },
  {
    route: "/events",
    path: () => "/events",
    content: (page) => page.getByRole("heading", { name: "No event subscriptions yet" }),
  },
  { route: "/sql", path: () => "/sql?q=SELECT%201%20AS%20one", content: region("Query result"), press: "Run" },
  { route: "/tour", path: () => "/tour", content: (page) => page.getByText(/^Registered:/) },
];

/** Part of the console's build: no server is needed. */
const STATIC_ROUTES = ["/errors/:code", "/bundle"];

test("every page is opened here", () => {
  const table = readFileSync(new URL("../src/environment/pages.tsx", import.meta.url), "utf8");
  const routes = [...table.matchAll(/^ {2}\["([^"]+)", \(\) => import\(/gm)].map((match) => match[1] ?? "");
  expect(routes.length).toBeGreaterThan(10);
  expect([...new Set(PAGES.map(({ route }) => route)), ...STATIC_ROUTES].toSorted()).toEqual(routes.toSorted());
});

/** Requests to the API, not for files of the console itself. */
const isServerRequest = ({ origin, pathname }: URL): boolean =>
  origin === new URL(ui.url("/")).origin && !pathname.startsWith("/ui/");

async function press(page: Page, { press: name }: PageCase): Promise<void> {
  if (name !== undefined) await page.getByRole("button", { name, exact: true }).click();
}

const cases = PAGES.map(
  (pageCase) => [`${pageCase.route}${pageCase.route === "/invocations" ? ` (${pageCase.path()})` : ""}`, pageCase] as const,
);

test.each(cases)("%s shows that it waits for a slow server, and continues by itself", async (_, pageCase) => {
  const page = await (await ui.browser.newContext()).newPage();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  await page.route(isServerRequest, async (route) => {
    await answered;
    await route.continue();
  });
  await page.goto(ui.url(pageCase.path()));
  await page.getByRole("main").locator("h1").waitFor();
  await press(page, pageCase);
  await page.getByRole("main").getByRole("status").filter({ hasText: "…" }).first().waitFor();
  expect(await pageCase.content(page).count()).toBe(0);
  expect(await page.getByRole("alert").count()).toBe(0);
  await expectAccessible(page);
  answer();
  await pageCase.content(page).first().waitFor({ timeout: CONTENT_MS_MAX });
  await page.unrouteAll({ behavior: "wait" });
});

test.each(cases)("%s shows that the server failed, and continues after a retry", async (_, pageCase) => {
  const page = await (await ui.browser.newContext({ mayFail: true })).newPage();
  await page.route(isServerRequest, (route) => route.fulfill({ status: 500, json: FAILURE }));
  await page.goto(ui.url(pageCase.path()));
  await page.getByRole("main").locator("h1").waitFor();
  await press(page, pageCase);
  const alert = page.getByRole("main").getByRole("alert").filter({ hasText: FAILURE.message });
  await alert.first().waitFor();
  expect(await pageCase.content(page).count()).toBe(0);
  await expectAccessible(page);
  await page.unrouteAll({ behavior: "wait" });
  // Pages that poll may have done so already.
  await page.evaluate(() => {
    for (const button of document.querySelectorAll<HTMLButtonElement>("main .problem button")) button.click();
  });
  await press(page, pageCase);
  await pageCase.content(page).first().waitFor({ timeout: CONTENT_MS_MAX });
  await alert.first().waitFor({ state: "detached" });
});

interface Part {
  readonly what: string;
  readonly path: () => string;
  readonly fails: (url: URL, body: string) => boolean;
  readonly title: string;
  /** Text on the page after a successful retry. */
  readonly content?: (page: Page) => Locator;
}

const PARTS: readonly Part[] = [
  {
    what: "why an invocation stands where it stands",
    path: () => `/invocations/${ui.data.approval}`,
    fails: ({ pathname }) => pathname.endsWith("/explain"),
    title: "The explanation of its status could not be read.",
  },
  {
    what: "which deployments are newer",
    path: () => `/deployments/${deployment}`,
    fails: ({ pathname }) => pathname.endsWith("/deployments"),
    title: "Could not read whether newer revisions serve its services.",
    content: (page) => page.getByRole("main").getByText("active", { exact: true }),
  },
  {
    what: "the names to complete",
    path: () => "/sql",
    fails: (_url, body) => body.includes("information_schema.columns"),
    title: "Table and column names could not be loaded.",
  },
];

test.each(PARTS.map((part) => [part.what, part] as const))("a page that could not read only %s shows so", async (_, part) => {
  const page = await (await ui.browser.newContext({ mayFail: true })).newPage();
  await page.route(isServerRequest, (route, request) =>
    part.fails(new URL(request.url()), request.postData() ?? "")
      ? route.fulfill({ status: 500, json: FAILURE })
      : route.continue(),
  );
  await page.goto(ui.url(part.path()));
  const alert = page.getByRole("main").getByRole("alert");
  await alert.filter({ hasText: part.title }).waitFor({ timeout: CONTENT_MS_MAX });
  expect(await alert.count()).toBe(1);
  await expectAccessible(page);
  await page.unrouteAll({ behavior: "wait" });
  // A page that polls may have done so already.
  await page.evaluate(() => document.querySelector<HTMLButtonElement>("main .problem button")?.click());
  await alert.first().waitFor({ state: "detached" });
  await part.content?.(page).first().waitFor({ timeout: CONTENT_MS_MAX });
});
