/** A server whose slots are all in use reports no failure; its overview must show that invocations wait, and what holds the slots. */
import { expect, test } from "@jest/globals";
import { eventually } from "@perdure/conformance";
import { expectAccessible, expectNoSidewaysScroll, expectNoSplitWords, suiteConsole } from "./console.js";

const SLOTS = 2;
const LONG_MS = 3_600_000;
/** The overview shows waits from ten seconds on, and reads them every five. */
const SHOWN_MS = 40_000;
const ui = suiteConsole({
  settings: {
    "worker.invoker.concurrent-invocations-limit": SLOTS,
    "events.check-interval": "200ms",
    "events.saturated-after": "1s",
  },
  world: "shop",
});

test("a saturated server shows which service waits, how many, for how long, and what runs", async () => {
  const { ingress, admin } = ui.world;
  const assemble = ["Orders", "assemble"] as const;
  for (let i = 0; i < SLOTS; i++) await ingress.send(assemble, { steps: 1, stepMs: LONG_MS });
  const page = await ui.open("/", { width: 360 });
  await page.getByText(/^All good: no invocation is failing, paused or waiting for a slot/).waitFor();
  const sent = [];
  for (let i = 0; i < 3; i++) sent.push(await ingress.send(["Payments", "charge"], 1));
  const waits = page
    .getByRole("region", { name: "Services that wait for a slot" })
    .getByRole("row")
    .filter({ hasText: "Payments" });
  await waits.getByRole("link", { name: "3", exact: true }).waitFor({ timeout: SHOWN_MS });
  await waits.getByRole("link", { name: /^\d\d(\.\d)? s$/ }).waitFor();
  await page.getByRole("link", { name: `${SLOTS} of Orders` }).waitFor();
  expect(await page.getByText(/^All good: /).count()).toBe(0);
  await expectAccessible(page);
  await expectNoSplitWords(page);
  await expectNoSidewaysScroll(page);
  await waits.getByRole("link", { name: "3", exact: true }).click();
  await page.waitForURL(/\/invocations\?.*status=ready/);
  for (const { invocationId } of sent) await admin.invocation(invocationId, "kill");
});

test("a saturated limit that an event reported needs attention, until it has recovered", async () => {
  const { ingress, admin } = ui.world;
  const to = { service: "Orders", handler: "approve" };
  const { status } = await admin.post("/event-subscriptions", { types: ["limit.saturated"], to });
  expect(status).toBe(201);
  await admin.http.request("PUT", "/limits/rules", { json: [{ pattern: "acme", limits: { concurrency: 1 } }] });
  const send = () => ingress.http.request("POST", "/restate/scope/acme/send/Orders/rest", { json: LONG_MS });
  const ids = [(await send()).json, (await send()).json].map((json) => (json as { invocationId: string }).invocationId);
  const page = await ui.open("/", { width: 360 });
  const conditions = page.getByRole("region", { name: "Subscriptions and limits that need attention" });
  await conditions.getByRole("row", { name: /limit saturated/ }).waitFor({ timeout: SHOWN_MS });
  await page.getByRole("img", { name: /^Waiting, running or suspended\. unfinished: last \d/ }).waitFor();
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await conditions.getByRole("link", { name: "acme" }).click();
  await page.getByRole("heading", { level: 1, name: "Rules and queues" }).waitFor();
  for (const id of ids) await admin.invocation(id, "kill");
  await eventually("the end", async () => (await admin.query("SELECT * FROM sys_condition")).length === 0);
  await page.goto(ui.url("/"));
  await page.getByRole("region", { name: "Needs attention" }).waitFor();
  expect(await conditions.count()).toBe(0);
});
