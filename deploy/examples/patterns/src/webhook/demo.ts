/** A provider delivers each event twice and one of them late; the server is killed in between. */
import type { Pattern } from "#kit/pattern";
import { type OrderEvent, orderEvents } from "#patterns/webhook/services";

const ORDER = "order-9";

export const webhook: Pattern = {
  name: "webhook",
  summary: "receive events that are delivered repeatedly and out of order",
  isInEveryLanguage: true,
  services: [orderEvents],
  demo: async (stage) => {
    const { outside } = stage;
    const paid = { sequence: 1, status: "paid" };
    const shipped = { sequence: 2, status: "shipped" };
    const notifying = outside.hold("customers/notify");
    const first = deliver("evt-2", shipped).catch(() => stage.say("the provider sees a broken connection and delivers again"));
    await notifying.performed;
    stage.say("the provider delivers 'shipped', then the server is killed before it answers");
    await stage.crash("server");
    notifying.release();
    await first;
    await deliver("evt-2", shipped);
    stage.say("'paid' arrives late, twice");
    await deliver("evt-1", paid);
    await deliver("evt-1", paid);

    const status = await fetch(`${stage.ingressUrl}/OrderEvents/${ORDER}/status`, { method: "POST" });
    stage.check("the order is shipped: the late event did not overwrite it", (await status.json()) === "shipped");
    stage.check("the customer was notified once", outside.performed("customers/notify").length === 1);

    /** As any provider does it: an HTTP request, accepted with 2xx when the event is stored. */
    async function deliver(eventId: string, event: OrderEvent): Promise<void> {
      const response = await fetch(`${stage.ingressUrl}/OrderEvents/${ORDER}/receive`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": eventId },
        body: JSON.stringify(event),
      });
      if (!response.ok) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
    }
  },
};
