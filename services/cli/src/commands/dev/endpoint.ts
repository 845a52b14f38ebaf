/** Watches one endpoint until the command ends: registers it, registers it again after changes, reports both. */
import { AdminApiError, type AdminClient, type RegistrationView } from "@perdure/admin-client";
import type { Context } from "../../context.js";
import { pause } from "../../pause.js";
import { PROBE_PAUSE_MS, QUICK_PROBES_MAX, SEARCH_PAUSE_MS } from "./limits.js";
import { Presence } from "./presence.js";
import { type Probed, probe } from "./probe.js";
import { type Sight, Sights, serves } from "./watcher.js";

export interface EndpointEvents {
  registered(url: string, deployment: RegistrationView, why: Exclude<Sight["kind"], "gone">): void;
  refused(url: string, error: AdminApiError): void;
  gone(url: string, why: string): void;
}

/** Polls until the signal fires; rejects then with its reason. */
export async function watchEndpoint(context: Context, admin: AdminClient, url: string, events: EndpointEvents): Promise<never> {
  const sights = new Sights();
  let presence: Presence | undefined;
  let wake = Promise.withResolvers<void>();
  const lost = (): void => {
    presence = undefined;
    sights.reloaded();
    wake.resolve();
  };
  try {
    for (let vain = 0; ; ) {
      const probed = await probe(url);
      context.signal.throwIfAborted();
      const sight = sights.next(probed);
      // An endpoint that could not be registered for a temporary reason counts as new in the next poll.
      if (sight !== undefined && !(await reportSight(context, admin, url, sight, events))) sights.reloaded();
      vain = sights.isThere ? 0 : vain + 1;
      if (probed.kind === "found" && !probed.usesHttp11) presence ??= new Presence(url, lost);
      wake = Promise.withResolvers();
      const quick = !sights.isThere && vain < QUICK_PROBES_MAX;
      await Promise.race([pause(context, quick ? SEARCH_PAUSE_MS : PROBE_PAUSE_MS), wake.promise]);
    }
  } finally {
    presence?.letGo();
  }
}

/** Resolves with true when the endpoint is handled, false when the registration must be retried. */
async function reportSight(
  context: Context,
  admin: AdminClient,
  url: string,
  sight: Sight,
  events: EndpointEvents,
): Promise<boolean> {
  if (sight.kind === "gone") {
    events.gone(url, sight.why);
    return true;
  }
  try {
    const useHttp11 = serves(sight.probed) && sight.probed.usesHttp11;
    const { deployment } = await admin.deployments.register({ address: url, useHttp11, force: true }, context);
    events.registered(url, deployment, sight.kind);
    return true;
  } catch (cause) {
    if (!(cause instanceof AdminApiError)) throw cause;
    events.refused(url, cause);
    return !PASSING.has(cause.code ?? String(cause.status));
  }
}

/** Codes and statuses of refusals that may be over a second later: the service is starting, or the server is busy. */
const PASSING: ReadonlySet<string> = new Set(["META0003", "META0013", "0", "429", "503", "OPS0004"]);

/** Usual ports of services: SDKs, Python and Node frameworks, and their alternatives when 8080 is taken. */
export const USUAL_PORTS: readonly number[] = [9080, 8000, 3000, 5000, 8080, 8081, 4000, 8787, 9081];

export interface ProbedUrl {
  readonly url: string;
  readonly probed: Probed;
}

/** The ports that serve handlers. */
export async function findEndpoints(ports: readonly number[]): Promise<readonly ProbedUrl[]> {
  const probes = await Promise.all(
    ports.map(async (port) => ({ url: `http://localhost:${port}`, probed: await probe(`http://localhost:${port}`) })),
  );
  return probes.filter(({ probed }) => serves(probed));
}
