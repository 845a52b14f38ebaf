/** What holds for every page of an account: it loads, is accessible, and shows foreign text as text. */
import { beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import type { Locator, Page } from "playwright-core";
import { expectAccessible, expectNoSidewaysScroll, type SignedInUser, suiteCloud } from "./cloud.js";

const TEST_MS = 60_000;

const cloud = suiteCloud();
let owner: SignedInUser;
let dev: EnvironmentId;
beforeAll(async () => {
  owner = await cloud.world.user("owner");
  dev = await cloud.world.environment(owner, "dev");
}, TEST_MS);

const heading = (page: Page, name: string): Locator => page.getByRole("heading", { level: 1, name, exact: true });

const at = (path = ""): string => `/accounts/${owner.accountId}${path}`;

describe("every page of an account", () => {
  /** Text on the page after the cloud has answered. */
  const pages = (): readonly (readonly [path: string, content: (page: Page) => Locator])[] => [
    ["", (page) => page.getByRole("link", { name: "dev", exact: true })],
    ["/members", (page) => page.getByText(owner.email).last()],
    ["/usage", (page) => page.getByRole("img", { name: /^Requests: / })],
    ["/audit", (page) => page.getByRole("cell", { name: "environment.create" }).first()],
    ["/settings", (page) => page.getByRole("row", { name: /Actions per month/ })],
    [`/environments/${dev}/developers`, (page) => page.getByText("How programs, command lines and services reach dev.")],
    [`/environments/${dev}/settings`, (page) => heading(page, "Environment settings")],
  ];
  const isApiCall = ({ pathname }: URL): boolean => pathname.startsWith(`/console/cloud/${owner.accountId}/`);

  test(
    "shows that it waits for a slow cloud, and continues by itself",
    async () => {
      for (const [path, content] of pages()) {
        const page = await cloud.open(owner, "/signed-in");
        const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
        await page.route(isApiCall, async (route) => {
          await answered;
          await route.continue();
        });
        await page.goto(cloud.url(at(path)));
        await page.getByRole("main").getByRole("status").filter({ hasText: "…" }).first().waitFor();
        expect([path, await content(page).count(), await page.getByRole("alert").count()]).toEqual([path, 0, 0]);
        await expectAccessible(page);
        answer();
        await content(page).waitFor();
        await page.unrouteAll({ behavior: "wait" });
        await page.context().close();
      }
    },
    TEST_MS,
  );

  test(
    "shows that the cloud failed, and continues after a retry",
    async () => {
      const body = { code: 503, message: "The service is away", restate_code: "PERD0503", request_id: "req_1" };
      for (const [path, content] of pages()) {
        const page = await cloud.open(owner, "/signed-in", { mayFail: true });
        await page.route(isApiCall, (route) => route.fulfill({ status: 503, json: body }));
        await page.goto(cloud.url(at(path)));
        const alert = page.getByRole("main").getByRole("alert").filter({ hasText: body.message });
        await alert.first().waitFor();
        expect([path, await content(page).count()]).toEqual([path, 0]);
        await expectAccessible(page);
        await page.unrouteAll({ behavior: "wait" });
        // Pages that poll may have done so already.
        await page.evaluate(() => {
          for (const again of document.querySelectorAll<HTMLButtonElement>("main .problem button")) again.click();
        });
        await content(page).waitFor();
        await alert.first().waitFor({ state: "detached" });
        await page.context().close();
      }
    },
    TEST_MS,
  );

  test(
    "is accessible, on a phone and in the dark",
    async () => {
      const phone = { width: 360, dark: true };
      const page = await cloud.open(owner, at(), phone);
      for (const [path, title] of [
        ["", "Environments"],
        ["/members", "Members"],
        ["/usage", "Usage"],
        ["/audit", "Audit log"],
        ["/settings", "Account settings"],
      ] as const) {
        await page.goto(cloud.url(at(path)));
        await heading(page, title).waitFor();
        await page.locator("main .loading").first().waitFor({ state: "detached" });
        await expectAccessible(page);
        await expectNoSidewaysScroll(page);
      }
      await page.goto(cloud.url("/accounts"));
      await heading(page, "Accounts").waitFor();
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    },
    TEST_MS,
  );

  test(
    "and every environment is reached with the keyboard",
    async () => {
      const page = await cloud.open(owner, at("/members"));
      await heading(page, "Members").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /^Search pages/ }).waitFor();
      await page.keyboard.type("environment dev");
      await page.getByRole("option", { name: "Environment dev" }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(new RegExp(`/environments/${dev}`));
      await heading(page, "Overview").waitFor();
    },
    TEST_MS,
  );
});
