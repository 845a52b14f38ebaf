import { beforeAll, describe, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import type { Locator, Page } from "playwright-core";
import { CONSOLE_PASSWORD, expectAccessible, type SignedInUser, suiteCloud, textOf } from "./cloud.js";

const TEST_MS = 60_000;
/** An environment comes up in seconds; a busy machine takes its time. */
const ACTIVE_MS = 45_000;
/** Hostile names of users, accounts, environments and keys. */
const WICKED = `<img src=x onerror="alert(1)">`;

const cloud = suiteCloud();
let owner: SignedInUser;
let dev: EnvironmentId;
beforeAll(async () => {
  owner = await cloud.world.user("owner");
  dev = await cloud.world.environment(owner, "dev");
}, TEST_MS);

const heading = (page: Page, name: string): Locator => page.getByRole("heading", { level: 1, name, exact: true });
const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
const at = (path = ""): string => `/accounts/${owner.accountId}${path}`;

const inside = (id: string): readonly string[] => [`/environments/${id}/developers`, `/environments/${id}/settings`];

async function expectForbidden(control: Locator, why: RegExp): Promise<void> {
  expect([await control.getAttribute("aria-disabled"), await control.getAttribute("aria-description")]).toEqual([
    "true",
    expect.stringMatching(why),
  ]);
}

describe("a new user", () => {
  test(
    "signs up, gets to a first environment, and from there to its addresses",
    async () => {
      const page = await cloud.open(undefined, "/sign-up?return=/");
      await page.getByLabel(/mail/i).fill("newcomer@perdure.test");
      await page.getByLabel(/^Name/).fill("Nora");
      await page.getByLabel(/^Password/).fill(CONSOLE_PASSWORD);
      await page.getByRole("button", { name: /sign up|create/i }).click();
      await page.getByRole("heading", { name: "Your first durable call in five minutes" }).waitFor();
      await button(page, "Create the first environment").click();
      const name = page.getByLabel("Name");
      await name.fill("My env");
      await page.getByText("Lower-case letters only.").waitFor();
      await expectForbidden(button(page, "Create"), /Lower-case letters/);
      await name.fill("first");
      await expectAccessible(page);
      await button(page, "Create").click();
      await heading(page, "Developers").waitFor({ timeout: ACTIVE_MS });
      await page.getByText("How programs, command lines and services reach first.").waitFor();
      expect(new URL(page.url()).pathname).toMatch(/^\/accounts\/acc_\w+\/environments\/env_\w+\/developers$/);
    },
    TEST_MS,
  );

  test(
    "after the sign-in a user is on the requested page",
    async () => {
      const page = await cloud.open(undefined, at("/members"), { mayFail: true });
      await page.waitForURL(/\/login\?/);
      expect(new URL(page.url()).searchParams.get("return")).toBe(at("/members"));
      await signIn(page, owner);
      await heading(page, "Members").waitFor();
    },
    TEST_MS,
  );
});

async function signIn(page: Page, { email }: SignedInUser): Promise<void> {
  await page.getByLabel(/mail/i).fill(email);
  await page.getByLabel(/^Password/).fill(CONSOLE_PASSWORD);
  await page.getByRole("button", { name: /^(sign|log) in$/i }).click();
}

describe("a session", () => {
  test(
    "that has ended is begun again in another window, and the page continues where it was",
    async () => {
      const browserContext = await cloud.newContext(owner, { mayFail: true });
      const page = await browserContext.newPage();
      await page.goto(cloud.url(at()));
      await heading(page, "Environments").waitFor();
      await browserContext.clearCookies();
      await page.getByRole("link", { name: "Members" }).click();
      const question = page.getByRole("dialog", { name: "Your session has ended" });
      await question.waitFor();
      await expectAccessible(page);
      const [other] = await Promise.all([
        browserContext.waitForEvent("page"),
        question.getByRole("link", { name: "Sign in" }).click(),
      ]);
      await signIn(other, owner);
      await other.getByText("Close this window").waitFor();
      await page.getByText(owner.email).waitFor();
      await question.waitFor({ state: "detached" });
    },
    TEST_MS,
  );

  test(
    "is ended from the menu, and elsewhere from the list",
    async () => {
      const user = await cloud.world.user("leaver");
      const page = await cloud.open(user, "/");
      await heading(page, "Environments").waitFor();
      await page.locator(".frame__foot .place-button").click();
      await page.getByRole("menuitem", { name: "Sessions" }).click();
      await page.getByRole("table").last().getByText("this session", { exact: true }).waitFor();
      await expectForbidden(button(page, "Sign out session"), /the current session/);
      await page.keyboard.press("Escape");
      await page.locator(".frame__foot .place-button").click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.waitForURL(/\/login/);
      expect((await page.context().cookies()).some(({ name }) => name.endsWith("perdure_session"))).toBe(false);
    },
    TEST_MS,
  );
});

describe("environments", () => {
  test(
    "are suspended, resumed, deleted by their name, and brought back",
    async () => {
      await cloud.world.environment(owner, "doomed");
      // A runtime that is resumed takes some seconds, and its listener answers 503 meanwhile.
      const page = await cloud.open(owner, at(), { mayFail: true });
      const row = page.getByRole("row", { name: /doomed/ });
      const act = async (name: string): Promise<void> => {
        await row.getByRole("button", { name: "Actions for doomed" }).click();
        await page.getByRole("menuitem", { name }).click();
      };
      await act("Suspend …");
      await button(page, "Suspend").click();
      await row.getByText("A member suspended it.").waitFor();
      await row.getByRole("link", { name: "doomed" }).click();
      await page.getByText("Calls are refused and nothing runs").waitFor();
      await expectAccessible(page);
      await button(page, "Resume").click();
      await heading(page, "Overview").waitFor();
      await page.goto(cloud.url(at()));
      await act("Delete …");
      await expectForbidden(button(page, "Delete"), /Type “doomed” first/);
      await page.getByLabel("Type “doomed” to confirm").fill("doomed");
      await expectAccessible(page);
      await button(page, "Delete").click();
      await row.getByText(/Data is deleted in 6 d/).waitFor();
      await row.getByRole("button", { name: "Restore" }).click();
      await row.getByText("active").waitFor({ timeout: ACTIVE_MS });
    },
    TEST_MS,
  );

  test(
    "that cannot be listed show an error, and are requested again",
    async () => {
      const page = await cloud.open(owner, "/signed-in", { mayFail: true });
      await page.route("**/ListEnvironments", (route) =>
        route.fulfill({
          status: 503,
          contentType: "application/json",
          body: JSON.stringify({ code: 503, message: "The service is away", restate_code: "PERD0503", request_id: "req_1" }),
        }),
      );
      await page.goto(cloud.url(at()));
      const alert = page.getByRole("alert");
      await alert.getByText("The service is away").waitFor();
      await alert.getByText("request req_1").waitFor();
      await page.unroute("**/ListEnvironments");
      await alert.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("link", { name: "dev", exact: true }).waitFor();
    },
    TEST_MS,
  );
});

describe("members", () => {
  test(
    "are invited by a link that is shown once, change roles, and go; an account keeps its owner",
    async () => {
      const member = await cloud.world.member(owner, "developer");
      const page = await cloud.open(owner, at("/members"));
      await button(page, "Invite member").click();
      await page.getByLabel("E-mail address").fill("friend@perdure.test");
      await button(page, "Invite").click();
      await page.getByText(`${cloud.world.origin}/invitation?token=inv_`).waitFor();
      await expectAccessible(page);
      await button(page, "Done").click();
      await button(page, "Revoke the invitation of friend@perdure.test").click();
      await page.getByText("No open invitations.").waitFor();

      await button(page, `Change the role of ${member.email}`).click();
      await page.getByRole("combobox", { name: "Role" }).click();
      await page.getByRole("option", { name: /^viewer/ }).click();
      await button(page, "Change role").click();
      await page.getByText(`${member.email} is viewer now`).waitFor();
      await button(page, `Remove ${member.email}`).click();
      await button(page, "Remove").click();
      await page.getByText(`${member.email} is removed`).waitFor();
      await expectForbidden(button(page, "Leave account"), /An account needs an owner/);
    },
    TEST_MS,
  );

  test(
    "viewers see everything, can change nothing, and see why",
    async () => {
      const viewer = await cloud.world.member(owner, "viewer");
      const page = await cloud.open(viewer, at());
      await page.getByRole("link", { name: "dev", exact: true }).waitFor();
      await expectForbidden(button(page, "Create environment"), /viewer, is read-only\. Required role: owner or admin/);
      await page.goto(cloud.url(at("/members")));
      await expectForbidden(button(page, "Invite member"), /viewer/);
      await expectForbidden(button(page, `Remove ${owner.email}`), /viewer/);
      await page.goto(cloud.url(at("/audit")));
      await page.getByText("Required role: owner or admin.").waitFor();
      await page.goto(cloud.url(at("/settings")));
      await expectForbidden(button(page, "Save"), /viewer/);
      await page.goto(cloud.url(at(`/environments/${dev}/developers`)));
      await expectForbidden(button(page, "Create API key"), /viewer/);
      await expectForbidden(button(page, "Rotate"), /viewer/);
      await page.goto(cloud.url(at(`/environments/${dev}/settings`)));
      await expectForbidden(button(page, "Suspend …"), /viewer/);
      await expectForbidden(button(page, "Delete …"), /viewer/);
    },
    TEST_MS,
  );

  test(
    "of billing see usage and plan only",
    async () => {
      const billing = await cloud.world.member(owner, "billing");
      const page = await cloud.open(billing, at());
      await page.getByText("Your role, billing, does not allow this.").waitFor();
      await page.getByRole("link", { name: "usage" }).last().click();
      await heading(page, "Usage").waitFor();
      await page.goto(cloud.url(at(`/environments/${dev}/`)));
      await page.getByText("Your role, billing, sees plan and usage only.").waitFor();
    },
    TEST_MS,
  );

  test(
    "of other accounts get the same message as for an id that does not exist",
    async () => {
      const nonMember = await cloud.world.user("non-member");
      const page = await cloud.open(nonMember, at(), { mayFail: true });
      await page.getByRole("heading", { name: "You are not a member of this account" }).waitFor();
      await page.goto(cloud.url(`/accounts/${nonMember.accountId}/environments/${dev}/`));
      await page.getByRole("heading", { name: "Environment not found" }).waitFor();
    },
    TEST_MS,
  );
});

describe("books", () => {
  test(
    "usage is shown by day, against the plan, for each environment and month",
    async () => {
      const { testTenancy } = cloud.world;
      const totals = { ingressRequests: 1_234, adminRequests: 1, bytesIn: 10, bytesOut: 100 * 2 ** 30, tunnelBytes: 0 };
      await testTenancy.tenancy.report([{ source: "test", environmentId: dev, atMs: Date.now(), totals }]);
      const page = await cloud.open(owner, at("/usage"));
      await page.getByText("100.0 GiB of 500 GiB per month").or(page.getByText("100 GiB of 500 GiB per month")).waitFor();
      await page.getByText("20 %").waitFor();
      await page.getByRole("img", { name: /^Requests: 1,2\d\d in total, peak on \d{4}-\d\d-\d\d with 1,2\d\d$/ }).waitFor();
      await page.getByRole("combobox", { name: "Environment" }).click();
      await page.getByRole("option", { name: "dev", exact: true }).click();
      await page.getByRole("heading", { name: "Plan usage of this environment" }).waitFor();
      expect(new URL(page.url()).searchParams.get("environment")).toBe(dev);
    },
    TEST_MS,
  );

  test(
    "the audit log is filtered, unfolded and saved",
    async () => {
      await owner.call("UpdateEnvironment", { environmentId: dev, description: WICKED });
      const page = await cloud.open(owner, at("/audit"));
      await page.getByLabel("What").click();
      await page.getByRole("option", { name: "environment.update" }).click();
      await page.waitForURL(/action=environment\.update/);
      const rows = page.getByRole("table").getByRole("row");
      await page.getByRole("cell", { name: "environment.create" }).first().waitFor({ state: "detached" });
      expect(await rows.count()).toBe(2);
      await page.getByText("Show", { exact: true }).click();
      await page.getByText('"requestId"').waitFor();
      expect(await page.locator("img").count()).toBe(0);
      await expectAccessible(page);
      await button(page, /Export/).click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name: /CSV/ }).click()]);
      expect(download.suggestedFilename()).toMatch(/^perdure-audit-\d{4}-\d\d-\d\d\.csv$/);
      const lines = (await textOf(download)).trim().split("\r\n");
      expect([lines[0], lines.length]).toEqual([expect.stringContaining("actorId,action"), 2]);
      await button(page, "Clear filters").click();
      await page.getByRole("cell", { name: "environment.create" }).first().waitFor();
    },
    TEST_MS,
  );

  test(
    "an account is renamed, its plan compared with others and changed",
    async () => {
      const user = await cloud.world.user("renamer", "free");
      const page = await cloud.open(user, `/accounts/${user.accountId}/settings`);
      await page.getByLabel("Name").fill(WICKED);
      await button(page, "Save").click();
      await page.getByText("Saved").waitFor();
      await button(page, /switch account or environment$/)
        .getByText(WICKED)
        .waitFor();
      await page
        .getByRole("row", { name: /Actions per month/ })
        .getByText("50,000")
        .waitFor();
      await expectAccessible(page);
    },
    TEST_MS,
  );
});

test(
  "names of users, accounts, environments and keys are never parsed as parts of a page",
  async () => {
    const page = await cloud.open(undefined, "/sign-up?return=/accounts");
    await page.getByLabel(/mail/i).fill("wicked@perdure.test");
    await page.getByLabel(/^Name/).fill(WICKED);
    await page.getByLabel(/^Password/).fill(CONSOLE_PASSWORD);
    await page.getByRole("button", { name: /sign up|create/i }).click();
    await heading(page, "Accounts").waitFor();
    /** As the page itself sends the request. */
    const callApi = (path: string, body: object): Promise<unknown> =>
      page.evaluate(
        async ([url, json]) => {
          const { csrf } = await (await fetch("/console/session")).json();
          const headers = { "content-type": "application/json", "x-perdure-csrf": csrf };
          const answer = await fetch(url, { method: "POST", headers, body: json });
          if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
          return answer.json();
        },
        [`/console/cloud/${path}`, JSON.stringify(body)] as const,
      );
    const { accounts } = (await callApi("ListAccounts", {})) as { accounts: readonly { accountId: string }[] };
    const account = accounts[0]?.accountId ?? "";
    await callApi("UpdateAccount", { accountId: account, name: WICKED, description: WICKED });
    const made = await callApi(`${account}/CreateEnvironment`, { name: "wicked", region: "us", description: WICKED });
    const { environmentId } = made as { environmentId: string };
    await callApi(`${account}/CreateApiKey`, { environmentId, roleId: "perdure:role::AdminReadOnly", description: WICKED });

    // Not only where the account's name is.
    const showing = ["/members", "/audit", ...inside(environmentId)];
    for (const path of ["", "/usage", "/settings", ...showing]) {
      await page.goto(cloud.url(`/accounts/${account}${path}`));
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.locator("main .loading").first().waitFor({ state: "detached" });
      const where = showing.includes(path) ? page.locator("main") : page;
      await where.getByText(WICKED).first().waitFor();
      expect([path, await page.locator("img").count()]).toEqual([path, 0]);
    }
  },
  TEST_MS,
);
