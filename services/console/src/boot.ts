/**
 * The same files are served for one environment on this machine and for the cloud; the boot data of the page states which of them it is.
 */
import { z } from "zod";

const ofBoth = {
  version: z.string(),
  /** Address of the documentation. */
  docsUrl: z.string(),
  /** URL of the trace viewer, with `{traceId}` in it. */
  traceUrl: z.string().optional(),
};

const bootShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("local"), ingressUrl: z.string(), canCrash: z.boolean(), ...ofBoth }),
  z.object({ kind: z.literal("cloud"), ...ofBoth }),
]);

/**
 * `local`: one environment, whose management API is at the page's own origin; `canCrash`: running attempts can be cut off. `cloud`:
 * accounts and environments, through the session of the user.
 */
export type Boot = z.infer<typeof bootShape>;

/** The boot data that the host wrote into the page. Throws when there are none. */
export function readBoot(document: Document): Boot {
  return bootShape.parse(JSON.parse(document.getElementById("boot")?.textContent ?? "null"));
}

/** `/ui` or ``: prefix of the console's paths. */
export function basePath(document: Document): string {
  return new URL(document.baseURI).pathname.replace(/\/+$/, "");
}
