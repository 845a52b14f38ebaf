/** Event subscriptions of webhooks and handlers, and deliveries that failed. */
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { expectAccessible, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole } from "./console.js";

const ui = suiteConsole({ world: "shop" });
/** The page reads deliveries every 15 s. */
const READ_AGAIN_MS = 30_000;

test("a webhook is subscribed, its secret is shown once and rotated, and the subscription is deleted", async () => {
  const page = await ui.open("/events", { width: 360 });
  await page.getByRole("heading", { name: "No event subscriptions yet" }).waitFor();
  await page.getByRole("button", { name: "Create event subscription" }).click();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText("Enter an address that begins with https://.").waitFor();
  await page.getByRole("textbox", { name: "Address" }).fill("https://hooks.example.com/services/a-secret-of-the-receiver");
  await page.getByRole("checkbox", { name: /^limit.saturated/ }).click();
  await page.getByRole("textbox", { name: "Description" }).fill("on call");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const secret = page.getByRole("figure", { name: "secret" });
  await secret.getByText(/^whsec_/).waitFor();
  const first = await secret.textContent();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
  const row = page.getByRole("row", { name: /on call/ });
  await row.getByText("invocation.failed, invocation.paused, limit.saturated").waitFor();
  await row.getByText("https://hooks.example.com/services/***").waitFor();
  await expectNoSidewaysScroll(page);
  await expectNoSplitWords(page);
  await expectAccessible(page);

  await page.getByRole("button", { name: /^Actions for https/ }).click();
  await page.getByRole("menuitem", { name: "Rotate secret" }).click();
  await secret.getByText(/^whsec_/).waitFor();
  expect(await secret.textContent()).not.toBe(first);
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
  await page.getByRole("button", { name: /^Actions for https/ }).click();
  await page.getByRole("menuitem", { name: "Revoke old secret" }).click();
  await page.getByText("Old secret revoked").waitFor();
  await page.getByRole("button", { name: /^Actions for https/ }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { name: "No event subscriptions yet" }).waitFor();
});

test("a handler gets the failures of one service; a delivery that failed is replayed", async () => {
  const { admin, ingress } = ui.world;
  const page = await ui.open("/events");
  await page.getByRole("button", { name: "Create event subscription" }).click();
  await page.getByRole("combobox", { name: "Deliver to" }).click();
  await page.getByRole("option", { name: "Handler" }).click();
  await page.getByRole("combobox", { name: "Service", exact: true }).click();
  await page.getByRole("option", { name: "Orders" }).click();
  await page.getByRole("combobox", { name: "Only of service" }).click();
  await page.getByRole("option", { name: "Payments" }).click();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("row", { name: /Orders\/place.*service Payments/ }).waitFor();
  await page.getByText("No delivery has failed.").waitFor();

  // The handler takes orders, and refuses an event.
  await ingress.send(["Payments", "charge"], 5_000);
  const failed = "SELECT id FROM sys_event_delivery WHERE status = 'failed'";
  await eventually("the failed delivery", async () => (await admin.query(failed)).length === 1);
  const replay = page.getByRole("button", { name: /^Replay invocation.failed of inv_/ });
  await replay.waitFor({ timeout: READ_AGAIN_MS });
  await expectAccessible(page);
  await replay.click();
  await page.getByText("The event is delivered again").waitFor();
  await eventually("another failed delivery", async () => (await admin.query(failed)).length === 2);
});
