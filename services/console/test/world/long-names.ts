/** Layouts break on names as long as those of real projects; the shop's are short. */
import { eventually, type HttpAnswer, type TestWorld } from "@perdure/conformance";
import { type Context, type ObjectContext, object, service, type WorkflowContext, workflow } from "@restatedev/restate-sdk";

const HOUR_MS = 3_600_000;
const REQUEST = {
  requestedBy: "ada.lovelace@example.com",
  reason: "The customer pays in three instalments instead of at once, which needs the approval of a second manager",
  contract: `https://contracts.internal.example.com/${"0123456789abcdef".repeat(8)}`,
};
const KEY = "warehouse-eu-central-1/sku-000048213";

const notifications = service({
  name: "NotificationDeliveryService",
  handlers: {
    sendConfirmationEmail: async (_ctx: Context, address: string): Promise<string> => `sent to ${address}`,
    sendReminder: async (): Promise<void> => {
      throw new Error("connect ECONNREFUSED smtp-relay.internal.example.com:587 while sending the confirmation of order 4711");
    },
  },
});

const approvals = service({
  name: "HumanTaskApprovalService",
  handlers: {
    requestManagerApproval: async (ctx: Context, _request: object): Promise<string> => ctx.awakeable<string>().promise,
  },
});

const inventory = object({
  name: "InventoryReservation",
  handlers: {
    reserveQuantity: async (ctx: ObjectContext, quantity: number): Promise<number> => {
      ctx.set("reservedQuantity", quantity);
      return quantity;
    },
    holdForStocktaking: async (ctx: ObjectContext): Promise<void> => ctx.sleep(HOUR_MS),
  },
});

const onboarding = workflow({
  name: "CustomerOnboardingWorkflow",
  handlers: {
    run: async (ctx: WorkflowContext): Promise<string> => ctx.promise<string>("identityVerified"),
  },
});

export const longNames = [notifications, approvals, inventory, onboarding];

/** Ids of what `fillLongNames` has made, for the addresses of pages. */
export interface LongNamesData {
  readonly deploymentId: string;
  readonly scheduleId: string;
  readonly waiting: string;
  readonly key: string;
}

/** Something on every page; it is done when the handler that waits for an answer is suspended. */
export async function fillLongNames({ admin, ingress }: TestWorld): Promise<LongNamesData> {
  const send = async (...sending: Parameters<typeof ingress.send>) => (await ingress.send(...sending)).invocationId;
  await ingress.result(["NotificationDeliveryService", "sendConfirmationEmail"], "ada@example.com");
  await ingress.result(["InventoryReservation", KEY, "reserveQuantity"], 12);
  await send(["NotificationDeliveryService", "sendReminder"]);
  await send(["InventoryReservation", KEY, "holdForStocktaking"]);
  await send(["InventoryReservation", KEY, "reserveQuantity"], 3);
  await send(["CustomerOnboardingWorkflow", "ada.lovelace@example.com", "run"]);
  const waiting = await send(["HumanTaskApprovalService", "requestManagerApproval"], REQUEST);
  const target = { service: "InventoryReservation", key: KEY, handler: "reserveQuantity" };
  const schedule = {
    name: "nightly-inventory-reconciliation",
    cron: "30 2 * * *",
    zone: "America/Argentina/Buenos_Aires",
    target,
  };
  const { id: scheduleId } = (await done(admin.post("/schedules", { ...schedule, payload: 5 }))) as { id: string };
  await done(admin.post(`/schedules/${scheduleId}/run`, {}));
  const rules = [{ pattern: "enterprise-customers/*", limits: { concurrency: 2 }, reason: "what their contract says" }];
  await done(admin.http.request("PUT", "/limits/rules", { json: rules }));
  for (let i = 0; i < 4; i++) {
    const path = "/restate/scope/enterprise-customers/send/HumanTaskApprovalService/requestManagerApproval";
    await done(ingress.http.request("POST", path, { headers: { "x-restate-limit-key": "acme-corporation-emea" } }));
  }
  const [{ id: deploymentId } = { id: "" }] = (await admin.query("SELECT id FROM sys_deployment")) as { id: string }[];
  await eventually("a handler that waits for an answer", async () => {
    const rows = await admin.query(`SELECT id FROM sys_invocation WHERE id = '${waiting}' AND status = 'suspended'`);
    return rows.length > 0;
  });
  return { deploymentId, scheduleId, waiting, key: KEY };
}

async function done(request: Promise<HttpAnswer>): Promise<unknown> {
  const { status, text, json } = await request;
  if (status >= 300) throw new Error(`${status}: ${text}`);
  return json;
}
