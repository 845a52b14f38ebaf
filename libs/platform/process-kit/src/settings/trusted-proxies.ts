/** Programs with limits per network must distinguish connections of proxies, and read the client's address from what these proxies send. */
import { parseRange, TrustedProxies } from "@perdure/cloud/trusted-proxies";
import { z } from "zod";
import { choice, custom, group, tomlValue } from "../config/setting.js";

/** A list in a file, or one line with commas in the environment and in flags. */
const ranges = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))])
  .pipe(z.array(z.string().refine((text) => parseRange(text) !== undefined, "must be ranges of addresses such as '10.0.0.0/8'")))
  .prefault([]);

/** The group `trusted-proxies`. */
export const trustedProxySettings = group(
  "Proxies in front of this program that are trusted to report their clients' addresses: limits per network count clients, not proxies.",
  {
    ranges: custom(ranges, {
      sentence:
        "Addresses of these proxies, as ranges ('10.0.0.0/8', 'fd00::/8') separated by commas. Headers of other clients are ignored.",
      form: "scalar",
      show: tomlValue,
    }),
    header: choice(["x-forwarded-for", "forwarded"], "x-forwarded-for", {
      sentence: "The header that each of them appends the address of its client to; the other one is not read.",
    }),
  },
);

/** Undefined where there are none. */
export function trustedProxiesOf({ ranges, header }: z.output<typeof trustedProxySettings>): TrustedProxies | undefined {
  return ranges.length === 0 ? undefined : new TrustedProxies(ranges, header);
}
