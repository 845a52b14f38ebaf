import { expect, test } from "@jest/globals";
import type { EventSubscriptionId } from "@perdure/base";
import type { EventRoute } from "@perdure/state-machine";
import type { RegistrySnapshot } from "./registry.js";
import { keepUnchanged } from "./unchanged.js";

function snapshot(secret: string | undefined): RegistrySnapshot {
  const route: EventRoute = {
    id: "evs_15ChR1PDwZt22Rn2lfZrRo5" as EventSubscriptionId,
    types: ["invocation.failed"],
    filter: { service: undefined, handler: undefined, scope: undefined },
    target: { service: "perdure.webhooks", handler: "evs_15ChR1PDwZt22Rn2lfZrRo5" },
    webhook: { url: "https://hooks.example/a", secrets: [secret ?? ""] },
  };
  return { services: new Map(), deployments: new Map(), rules: [], events: secret === undefined ? undefined : [route] };
}

test("equal rules and event subscriptions keep their identity, changed ones do not", () => {
  const previous = snapshot("whsec_a");
  const equal = keepUnchanged(snapshot("whsec_a"), previous);
  expect(equal.events).toBe(previous.events);
  expect(equal.rules).toBe(previous.rules);
  const changed = snapshot("whsec_b");
  expect(keepUnchanged(changed, previous).events).toBe(changed.events);
  expect(keepUnchanged(snapshot(undefined), previous).events).toBeUndefined();
});
