/** The endpoint is killed when the bank has captured the money and the result is not stored yet. A second payment expires. */
import type { Pattern } from "#kit/pattern";
import { payment as paymentObject } from "#patterns/payment/services";

export const payment: Pattern = {
  name: "payment",
  summary: "a payment as a state machine, with an authorization that expires",
  services: [paymentObject],
  demo: async (stage) => {
    const { outside } = stage;
    const first = stage.ingress.objectClient(paymentObject, "pay-1");
    await first.authorize({ cents: 4_900, expiresAfterMs: 3_600_000 });
    const capturing = outside.hold("bank/capture");
    const captured = first.capture();
    await capturing.performed;
    const again = outcomeOf(first.capture());
    stage.say("two captures at once; the bank has performed the first, its result is not stored yet");
    await stage.crash("endpoint");
    capturing.release();
    stage.check("the first capture succeeds", (await captured) === "captured");
    stage.check("the second is refused", (await again).includes("the payment is captured"));
    stage.check("the bank captured once", outside.performed("bank/capture").length === 1);
    stage.check("the payment can be refunded", (await first.refund()) === "refunded");

    const second = stage.ingress.objectClient(paymentObject, "pay-2");
    await second.authorize({ cents: 900, expiresAfterMs: 200 });
    await stage.until("the second payment expires", async () => (await second.status()) === "expired");
    stage.check("an authorization that is not used is released", outside.performed("bank/release").length === 1);
  },
};

function outcomeOf(call: PromiseLike<string>): Promise<string> {
  return Promise.resolve(call).catch((cause: Error) => cause.message);
}
