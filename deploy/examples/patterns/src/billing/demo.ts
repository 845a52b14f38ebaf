/** The card is refused once in the second period, and the server is killed in the third. */
import type { Pattern } from "#kit/pattern";
import { subscription } from "#patterns/billing/services";

export const billing: Pattern = {
  name: "billing",
  summary: "charge a subscription every period, try refused cards again, cancel",
  services: [subscription],
  demo: async (stage) => {
    const { outside } = stage;
    let refusals = 0;
    outside.on("cards/charge", (_, count) => {
      if (count !== 2 || refusals > 0) return { body: {} };
      refusals++;
      return { status: 402, body: "card refused" };
    });
    const ada = stage.ingress.objectClient(subscription, "ada");
    await ada.start({ cents: 900, periodMs: 200, retryAfterMs: 100 });
    await stage.until("the second period is paid", () => charges() >= 2);
    stage.say("the card was refused once and charged at the second try");
    await stage.crash("server");
    await stage.until("two more periods are paid", () => charges() >= 4);
    await ada.cancel();
    const paid = charges();
    const periods = new Set(outside.performed("cards/charge").map((charge) => JSON.stringify(charge)));
    stage.check("the refused card was tried again", refusals === 1);
    stage.check("every period was charged once", periods.size === paid);
    stage.check("the subscription is cancelled", (await ada.status()) === "cancelled");

    function charges(): number {
      return outside.performed("cards/charge").length;
    }
  },
};
