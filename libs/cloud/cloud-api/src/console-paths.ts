/** Paths below `/console/`, for routes, the bound on open requests, and metrics. */

/** `<prefix><environment>/<admin|ingress>/<path>` is an environment's endpoint, for the session's user. */
export const PROXY_PREFIX = "/console/environments/";

/** The page is never served below these: programs call them, and need errors instead. */
const NO_PAGES = /^\/(?:cloud|console|oauth|\.well-known)(?:\/|$)/;

/** Whether a GET of this path may be answered with the page. */
export function mayBePage(path: string): boolean {
  return !NO_PAGES.test(path);
}
