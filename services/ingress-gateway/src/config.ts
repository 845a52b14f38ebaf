/** Every setting of the ingress, with its sentence, unit and default. Names are the reference's where it has them. */
import { advertisedAddress, bindAddress, bindPort, byteSize, group, optionalInteger } from "@perdure/role";
import type { z } from "zod";
import type { IngressOptions } from "./ingress.js";

/** The settings one by one, for those who have more in their group. */
export const ingressSettingsShape = {
  bindAddress: bindAddress(),
  bindPort: bindPort(8080),
  advertisedAddress: advertisedAddress("How callers reach the ingress, for display; http://localhost:<port>/ when not set."),
  requestSizeLimit: byteSize("32MiB", { sentence: "Largest request body (size)." }),
  concurrentApiRequestsLimit: optionalInteger({
    sentence: "Requests at one time, beyond which callers hear 429; unlimited when not set.",
    min: 1,
  }),
  requestsPerSecondLimit: optionalInteger({
    sentence:
      "Requests per second of this process in the long run, and as many at once; beyond it callers hear 429. Unlimited when not set.",
    min: 1,
  }),
} as const;

export const ingressSettings = group("The HTTP door for callers of services.", ingressSettingsShape);

export type IngressSettings = z.output<typeof ingressSettings>;

export function ingressOptionsOf(settings: IngressSettings, scopesEnabled: boolean): IngressOptions {
  return {
    requestBytesMax: settings.requestSizeLimit,
    concurrentRequestsMax: settings.concurrentApiRequestsLimit,
    requestsPerSecondMax: settings.requestsPerSecondLimit,
    scopesEnabled,
  };
}
