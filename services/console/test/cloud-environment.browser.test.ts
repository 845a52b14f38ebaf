/** The pages that only environments of the cloud have, and the common ones through the console's own API. */
/// <reference lib="dom" />
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { EnvironmentId } from "@perdure/cloud";
import { SdkEndpoint } from "@perdure/conformance";
import { type ObjectContext, object, service } from "@restatedev/restate-sdk";
import type { Locator, Page } from "playwright-core";
import { CONSOLE_PASSWORD, expectAccessible, expectNoSidewaysScroll, type SignedInUser, suiteCloud } from "./cloud.js";

const TEST_MS = 60_000;
const greeter = service({ name: "Greeter", handlers: { greet: async (_ctx, name: string) => `Hello, ${name}!` } });
const shelf = object({ name: "Shelf", handlers: { put: async (ctx: ObjectContext, count: number) => ctx.set("left", count) } });

const cloud = suiteCloud({ "cloud.lambda-principal-arn": "arn:aws:iam::123456789012:role/PerdureCloud-us" });
let owner: SignedInUser;
let dev: EnvironmentId;
let endpoint: SdkEndpoint;
beforeAll(async () => {
  owner = await cloud.world.user("owner");
  [dev, endpoint] = await Promise.all([cloud.world.environment(owner, "dev"), SdkEndpoint.start({ services: [greeter, shelf] })]);
}, TEST_MS);
afterAll(async () => endpoint?.[Symbol.asyncDispose]());

const heading = (page: Page, name: string): Locator => page.getByRole("heading", { level: 1, name, exact: true });
const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
const at = (path: string): string => `/accounts/${owner.accountId}/environments/${dev}${path}`;

/** As after a quarter of an hour. */
async function clearConfirmation({ userId }: SignedInUser): Promise<void> {
  const { session } = cloud.world.testTenancy.ports.database.tables;
  await session.write("UPDATE perdure_sessions SET confirmed_at_ms = NULL WHERE user_id = $1", [userId]);
}

test(
  "a key is made after its user has signed in again, is shown once, has the rights of its role, and is revoked",
  async () => {
    const page = await cloud.open(owner, at("/developers"), { mayFail: true });
    await page.getByText("No API keys yet.").waitFor();
    await clearConfirmation(owner);
    await button(page, "Create API key").click();
    await page.getByLabel("Description").fill("deploys");
    await page.getByRole("combobox", { name: "Role" }).click();
    await page.getByRole("option", { name: "Admin" }).click();
    await page.getByLabel(/^Requests per second/).fill("0");
    await page.getByText("A whole number from 1 to 100,000.").waitFor();
    await page.getByLabel(/^Requests per second/).fill("50");
    await button(page, "Create").click();
    const question = page.getByRole("dialog", { name: "Confirm your identity" });
    const password = question.getByLabel("Password");
    await password.fill("not this one");
    await question.getByRole("button", { name: "Confirm" }).click();
    await question.getByText("The password is wrong").waitFor();
    await expectAccessible(page);
    await password.fill(CONSOLE_PASSWORD);
    await question.getByRole("button", { name: "Confirm" }).click();

    const shown = page.getByTestId("api-key");
    await shown.waitFor();
    const key = (await shown.textContent()) ?? "";
    expect(key).toMatch(/^key_\w{23}\.\w{44}$/);
    await page.keyboard.press("Escape");
    expect(await button(page, "Done").getAttribute("aria-description")).toBe("Confirm first that you have stored the key");
    await page.getByText("I have stored it").click();
    await button(page, "Done").click();
    await shown.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(key.slice(30));

    const { ingressBaseUrl, adminBaseUrl } = (await owner.call("DescribeEnvironment", { environmentId: dev })).json;
    const statusOf = async (url: string) => (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status;
    expect([await statusOf(`${adminBaseUrl}/deployments`), await statusOf(`${ingressBaseUrl}/Greeter/greet`)]).toEqual([
      200, 403,
    ]);

    await page
      .getByRole("row", { name: /deploys/ })
      .getByText("50 requests/s")
      .waitFor();
    await button(page, "Revoke deploys").click();
    await button(page, "Revoke").click();
    await page.getByText("No API keys yet.").waitFor();
  },
  TEST_MS,
);

test(
  "snippets have the environment's values; AWS roles trust this environment only",
  async () => {
    const page = await cloud.open(owner, at("/developers"));
    const { ingressBaseUrl } = (await owner.call("DescribeEnvironment", { environmentId: dev })).json;
    const snippet = page.getByRole("figure", { name: /^the snippet for/ });
    await snippet.getByText(`${ingressBaseUrl}/Greeter/greet`).waitFor();
    for (const [name, text] of [
      ["Register by curl", "/deployments"],
      ["TypeScript", "@restatedev/restate-sdk-clients"],
      ["perdure", "perdure env configure dev"],
      ["restate", "RESTATE_INGRESS_URL="],
      ["Kubernetes", `environmentId: ${dev}`],
      ["AWS Lambda", `"sts:ExternalId": "${dev}"`],
    ] as const) {
      await button(page, name).click();
      await snippet.getByText(text).waitFor();
    }
  },
  TEST_MS,
);

test(
  "the signing key is rotated step by step, and services accept both meanwhile",
  async () => {
    const page = await cloud.open(owner, at("/developers"));
    const first = (await owner.call("DescribeEnvironment", { environmentId: dev })).json.signingPublicKey as string;
    const snippet = page.getByRole("figure", { name: "identity keys for the SDK" });
    await snippet.getByText(`identityKeys: ["${first}"]`).waitFor();
    const step = async (name: string): Promise<void> => {
      await button(page, name).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: name.replace(" early", ""), exact: true })
        .click();
    };
    await step("Rotate");
    await page.getByText("next", { exact: true }).waitFor();
    await snippet.getByText(`identityKeys: ["${first}", "publickeyv1_`).waitFor();
    expect(await button(page, "Rotate").getAttribute("aria-description")).toMatch(/Finish the current rotation first/);
    await step("Promote");
    await page.getByText("previous", { exact: true }).waitFor();
    await page.getByText(/That is in 23 h/).waitFor();
    await step("Retire early");
    await page.getByText("previous", { exact: true }).waitFor({ state: "detached" });
    const after = (await owner.call("DescribeEnvironment", { environmentId: dev })).json;
    expect([after.signingPublicKeys.length, after.signingPublicKey === first]).toEqual([1, false]);
  },
  TEST_MS,
);

test(
  "tunnels are listed with their connections, as they connect",
  async () => {
    const page = await cloud.open(owner, at("/developers"));
    await page.getByText("No tunnel is connected.").waitFor();
    const one = { environmentId: dev, name: "laptop", clientVersion: "1.7.12", workerId: undefined, connectedAtMs: Date.now() };
    await cloud.world.testTenancy.tenancy.reportTunnels({
      relay: "relay-1",
      atMs: Date.now(),
      connections: [{ ...one, id: "a", inFlight: 3, ports: [9080, 9081] }],
    });
    const row = page.getByRole("row", { name: /laptop/ });
    await row.getByText("relay-1").waitFor();
    expect(await row.getByRole("cell").allTextContents()).toMatchObject({ 1: "9080, 9081", 3: "3" });
  },
  TEST_MS,
);

/** As the page does it: with the token that only the page has. */
async function requestFrom(page: Page, method: string, path: string, json: unknown): Promise<{ status: number; text: string }> {
  const request = { url: `/console/environments/${dev}/${path}`, method, body: JSON.stringify(json) };
  return page.evaluate(async ({ url, method, body }) => {
    const { csrf } = await (await fetch("/console/session")).json();
    const headers = { "content-type": "application/json", "x-perdure-csrf": csrf };
    const answer = await fetch(url, { method, headers, body });
    return { status: answer.status, text: await answer.text() };
  }, request);
}

test(
  "its pages read and call through the console's own API, and a viewer's only read",
  async () => {
    const register = await cloud.newContext(owner);
    const page = await register.newPage();
    await page.goto(cloud.url(at("/settings")));
    await heading(page, "Environment settings").waitFor();
    expect((await requestFrom(page, "POST", "admin/deployments", { uri: endpoint.url, force: true })).status).toBeLessThan(300);
    await page.goto(cloud.url(at("/services")));
    await page.getByText("Greeter").first().waitFor();

    const viewer = await cloud.world.member(owner, "viewer");
    const looking = await cloud.open(viewer, at("/services"));
    await looking.getByText("Greeter").first().waitFor();
  },
  TEST_MS,
);

test(
  "a viewer sees what is on its pages, and each control that would change something explains why it does not",
  async () => {
    const page = await cloud.open(owner, at("/settings"));
    await heading(page, "Environment settings").waitFor();
    const made = async (method: string, path: string, json: unknown): Promise<Readonly<Record<string, string>>> => {
      const { status, text } = await requestFrom(page, method, path, json);
      if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
      return text.startsWith("{") ? JSON.parse(text) : {};
    };
    const deployment = await made("POST", "admin/deployments", { uri: endpoint.url, force: true });
    await made("POST", "ingress/Shelf/lamp/put", 3);
    const { invocationId } = await made("POST", "ingress/Greeter/greet/send", "you");
    await made("POST", "admin/schedules", {
      name: "yearly",
      cron: "0 0 1 1 *",
      target: { service: "Greeter", handler: "greet" },
    });
    await made("PUT", "admin/limits/rules", [{ pattern: "acme", limits: { concurrency: 1 } }]);
    const delayed = await made("POST", "ingress/Greeter/greet/send?delay=1h", "them");
    await made("PATCH", `admin/invocations/${delayed["invocationId"]}/kill`, {});

    const looking = await cloud.open(await cloud.world.member(owner, "viewer"), at("/services"));
    const expectForbidden = async (control: Locator): Promise<void> => {
      await control.waitFor();
      const attributes = [await control.getAttribute("aria-disabled"), await control.getAttribute("aria-description")];
      expect([String(control), ...attributes]).toEqual([String(control), "true", "Your role, viewer, is read-only."]);
    };
    for (const [path, ...names] of [
      ["/services/Greeter", "Edit configuration"],
      ["/playground?service=Greeter&handler=greet", "Call"],
      ["/deployments", "Register deployment"],
      [`/deployments/${deployment["id"]}`, "Verify compatibility"],
      [`/invocations/${invocationId}`, "Restart as new …"],
      ["/state/Shelf/lamp", "Add entry", "Clear all", "Edit left", "Remove left"],
      ["/awakeables", "Complete"],
      ["/schedules", "Create schedule"],
      ["/operations", "Undo kill of 1 invocation …"],
      ["/flow", "Create rule", "Edit acme", "Disable acme", "Delete acme"],
      ["/subscriptions", "Create subscription", "Add Kafka cluster"],
    ] as const) {
      await looking.goto(cloud.url(at(path)));
      for (const name of names) await expectForbidden(button(looking, name));
    }
    for (const [path, menu, names] of [
      [`/deployments/${deployment["id"]}`, "More actions", ["Update in place", "Remove"]],
      [`/invocations/${invocationId}`, "More actions", ["Cancel", "Purge …"]],
      ["/schedules", "Actions for yearly", ["Fire now", "Pause", "Edit", "Delete"]],
    ] as const) {
      await looking.goto(cloud.url(at(path)));
      await button(looking, menu).click();
      for (const name of names) await expectForbidden(looking.getByRole("menuitem", { name, exact: true }));
    }
  },
  TEST_MS,
);

test(
  "a kill is undone from the message after it",
  async () => {
    const page = await cloud.open(owner, at("/settings"));
    await heading(page, "Environment settings").waitFor();
    const sent = await requestFrom(page, "POST", "ingress/Greeter/greet/send?delay=1h", "later");
    const { invocationId } = JSON.parse(sent.text);
    await page.goto(cloud.url(at(`/invocations/${invocationId}`)));
    await button(page, "More actions").click();
    await page.getByRole("menuitem", { name: "Kill …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Kill", exact: true }).click();
    await page.locator(".toast").getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText(/1 invocation restored/).waitFor();
    await page.getByRole("heading", { level: 1, name: /Greeter\/greet scheduled/ }).waitFor();
    cloud.browser.takeComplaints(); // Nothing is retained of the killed one, and the browser logs each 404.
  },
  TEST_MS,
);

test(
  "the list of environments shows calls of the last hour and the last deployment of each",
  async () => {
    for (const view of [{ width: 1024 }, { width: 360, dark: true }]) {
      const page = await cloud.open(owner, `/accounts/${owner.accountId}`, view);
      await page.getByRole("img", { name: /^dev, last hour: [1-9]\d* calls?, \d+ failed, at most \d+ per 3 minutes$/ }).waitFor();
      await page.locator('[data-column="Last deployment"] time').waitFor();
      await expectNoSidewaysScroll(page);
      await expectAccessible(page);
    }
  },
  TEST_MS,
);

test(
  "settings are checked as they are typed, and kept",
  async () => {
    const page = await cloud.open(owner, at("/settings"));
    await page.getByLabel("Name").fill("default");
    await page.getByText("“default” is reserved by the command line.").waitFor();
    await page.getByLabel("Name").fill("dev");
    await page.getByLabel("Allowed origins (CORS)").fill("app.example");
    await page.getByText(/“app.example” is not an origin/).waitFor();
    await page.getByLabel("Allowed origins (CORS)").fill("https://app.example\n*");
    await page.getByText("Forward Authorization headers of other systems").click();
    await button(page, "Save").click();
    await page.getByText("Saved; takes effect within 30 seconds").waitFor();
    expect((await owner.call("DescribeEnvironment", { environmentId: dev })).json).toMatchObject({
      name: "dev",
      corsOrigins: ["https://app.example", "*"],
      forwardsForeignAuthorization: true,
    });
  },
  TEST_MS,
);

test(
  "an environment that quotas suspended shows so, and resuming it does not get around them",
  async () => {
    const { environments } = cloud.world.testTenancy.ports.database.tables;
    const user = await cloud.world.user("heavy");
    const id = await cloud.world.environment(user, "busy");
    await environments.take(id, { event: "suspend", suspendedFor: "quota", nowMs: Date.now() });
    const page = await cloud.open(user, `/accounts/${user.accountId}/environments/${id}/invocations`);
    await page.getByRole("heading", { level: 1, name: "busy suspended" }).waitFor();
    await page.getByText(/The monthly quota of actions is used up/).waitFor();
    expect(await button(page, "Resume").getAttribute("aria-description")).toMatch(/a larger plan/);
    await expectAccessible(page);
  },
  TEST_MS,
);

test(
  "all of it can be used on a phone and in the dark",
  async () => {
    const page = await cloud.open(owner, at("/developers"), { width: 360, dark: true });
    for (const [path, title] of [
      ["/developers", "Developers"],
      ["/settings", "Environment settings"],
    ] as const) {
      await page.goto(cloud.url(at(path)));
      await heading(page, title).waitFor();
      await page.locator("main .loading").first().waitFor({ state: "detached" });
      await expectAccessible(page);
      await expectNoSidewaysScroll(page);
    }
  },
  TEST_MS,
);
