/** Every setting of the ingress, with its sentence, unit and default. Names are the reference's where it has them. */
import {
  advertisedAddress,
  bindAddress,
  bindPort,
  byteSize,
  custom,
  group,
  optionalInteger,
  tomlValue,
} from "@perdure/process-kit";
import { z } from "zod";
import type { IngressOptions } from "./options.js";

/** A list in a file, or one line with commas in the environment and in flags. */
const originList = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))])
  .pipe(
    z.array(z.string().regex(/^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#,]+)$/, "must be origins such as 'https://app.example', or *")),
  )
  .prefault(["*"]);

/** The settings one by one, for roles that have more in their group. */
export const ingressSettingsShape = {
  bindAddress: bindAddress(),
  bindPort: bindPort(8080),
  advertisedAddress: advertisedAddress("How callers reach the ingress, for display; http://localhost:<port>/ when not set."),
  corsAllowedOrigins: custom(originList, {
    sentence:
      "Origins of web pages that may call the ingress from a browser and read its answers, separated by commas; '*' is any page, none is an empty list.",
    form: "scalar",
    show: tomlValue,
  }),
  requestSizeLimit: byteSize("32MiB", { sentence: "Largest request body (size)." }),
  concurrentApiRequestsLimit: optionalInteger({
    sentence: "Requests at one time, beyond which callers get 429; unlimited when not set.",
    min: 1,
  }),
  requestsPerSecondLimit: optionalInteger({
    sentence:
      "Requests per second of this process in the long run, and as many at once; beyond it callers get 429. Unlimited when not set.",
    min: 1,
  }),
} as const;

export const ingressSettings = group("The HTTP listener for callers of services.", ingressSettingsShape);

type IngressSettings = z.output<typeof ingressSettings>;

export function ingressOptionsOf(settings: IngressSettings, scopesEnabled: boolean): IngressOptions {
  return {
    requestBytesMax: settings.requestSizeLimit,
    concurrentRequestsMax: settings.concurrentApiRequestsLimit,
    requestsPerSecondMax: settings.requestsPerSecondLimit,
    scopesEnabled,
    corsOrigins: settings.corsAllowedOrigins,
  };
}
