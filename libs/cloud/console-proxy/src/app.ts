/**
 * Serves the console's page. It is one page with client-side paths, so it is served at every path that no other route has, to requests
 * that navigate to a page.
 */

import type { TenancyPorts } from "@perdure/cloud-api";
import { mayBePage } from "@perdure/cloud-api";
import type { ConsoleHost } from "@perdure/console-host";
import { VERSION } from "@perdure/telemetry";
import { type Request, Router } from "express";

/**
 * Where the console has a host of its own, redirects from the API's host before a page is shown: cookies belong to one host, so a user
 * who signed in at the API's host would not be signed in at the console.
 */
export function homeRoutes({ addresses, tokens }: Pick<TenancyPorts, "addresses" | "tokens">): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const [consoleHost, apiHost] = [new URL(addresses.consoleUrl).host, new URL(tokens.issuer).host];
  if (consoleHost === apiHost) return router;
  router.use((req, res, next) => {
    if (req.headers.host !== apiHost || !isPageRequest(req) || !req.originalUrl.startsWith("/")) return next();
    res.redirect(302, `${addresses.consoleUrl}${req.originalUrl}`);
  });
  return router;
}

/** Addresses elsewhere that the page links to. */
export interface ConsoleLinks {
  /** Of the documentation. */
  readonly docsUrl: string;
  /** Of the trace viewer, with `{traceId}` in it. */
  readonly traceUrl?: string | undefined;
}

/** `host` undefined: the console was not built. */
export function appRoutes(host: ConsoleHost | undefined, links: ConsoleLinks): Router {
  // Settings that the page gets at its start; they are public.
  const boot = { kind: "cloud", version: VERSION, ...links };
  const router = Router({ caseSensitive: true, strict: true });
  // Common spellings of the path.
  router.get("/signup", (req, res) => res.redirect(308, `/sign-up${req.originalUrl.slice("/signup".length)}`));
  router.use((req, res, next) => {
    if (!isPageRequest(req)) return next();
    if (host !== undefined) return host.handle(req, res, boot) ? undefined : next();
    if (req.path !== "/") return next();
    res.redirect(303, "/profile");
  });
  return router;
}

/** A request for the page, or for a file of the console. */
function isPageRequest(req: Request): boolean {
  if ((req.method !== "GET" && req.method !== "HEAD") || !mayBePage(req.path)) return false;
  if (req.path === "/" || req.path.startsWith("/assets/") || FILE.test(req.path)) return true;
  return (req.headers.accept ?? "").includes("text/html");
}

/** A file beside the page: `/mark.svg`. */
const FILE = /^\/[\w-]+\.[a-z0-9]+$/;
