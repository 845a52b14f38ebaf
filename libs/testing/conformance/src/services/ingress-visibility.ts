/** Services with different visibility at the ingress and different retention. */
import { setTimeout as delay } from "node:timers/promises";
import { type Context, handlers, service } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";

export const secretService = service({
  name: "Secret",
  handlers: { greet: async (_ctx: Context, name: string) => `psst, ${name}` },
  options: { ingressPrivate: true, retryPolicy: QUICK_RETRIES },
});

export const mixedService = service({
  name: "Mixed",
  handlers: {
    open: async () => "open",
    closed: handlers.handler({ ingressPrivate: true }, async () => "closed"),
    viaSelf: async (ctx: Context) => ctx.serviceClient<{ closed(ctx: Context): Promise<string> }>({ name: "Mixed" }).closed(),
    secret: async (ctx: Context, name: string) => ctx.serviceClient(secretService).greet(name),
  },
  options: { retryPolicy: QUICK_RETRIES },
});

/** A service with a short retention of results. */
export const forgetfulService = service({
  name: "Forgetful",
  handlers: {
    slow: async (_ctx: Context, name: string) => {
      await delay(100);
      return probe.bump(`forgetful:${name}`);
    },
  },
  options: { idempotencyRetention: 2_000, journalRetention: 2_000, retryPolicy: QUICK_RETRIES },
});

/** A service without retention for invocations without idempotency key. */
export const traceless = service({
  name: "Traceless",
  handlers: { hi: async () => "hi" },
  options: { journalRetention: 0, retryPolicy: QUICK_RETRIES },
});
