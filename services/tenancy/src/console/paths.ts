/** Why: what lies below `/console/` is said once: routes, the bound on open requests and metrics go by it. */

/** `<prefix><environment>/<admin|ingress>/<path>` is an environment's door, for the session's user. */
export const PROXY_PREFIX = "/console/environments/";

/** Never the console's page, whatever is asked for below: programs ask here, and must hear of mistakes. */
const NO_PAGES = /^\/(?:cloud|console|oauth|\.well-known)(?:\/|$)/;

/** Whether a GET of this path may be answered with the page. */
export function mayBePage(path: string): boolean {
  return !NO_PAGES.test(path);
}
