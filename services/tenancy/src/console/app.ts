/** Why: the page is one, and knows its own paths; so it is served at all that nobody else has, to whoever wants to look at something. */
import type { ConsoleHost } from "@perdure/console-host";
import { VERSION } from "@perdure/role";
import { type Request, Router } from "express";
import type { TenancyPorts } from "../ports.js";
import { mayBePage } from "./paths.js";

/**
 * Where the console has a name of its own, people are sent there from the API's, before they see a page: cookies are of one host, and
 * whoever signed in here would not be there.
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

/** `host` undefined: the console was not built. `traceUrl`: where traces are looked at, with `{traceId}` in it. */
export function appRoutes(host: ConsoleHost | undefined, traceUrl: string | undefined): Router {
  // What the page is told at its start; anybody may read it.
  const boot = { kind: "cloud", version: VERSION, traceUrl };
  const router = Router({ caseSensitive: true, strict: true });
  // How people write it, and how it is written elsewhere.
  router.get("/signup", (req, res) => res.redirect(308, `/sign-up${req.originalUrl.slice("/signup".length)}`));
  router.use((req, res, next) => {
    if (!isPageRequest(req)) return next();
    if (host !== undefined) return host.handle(req, res, boot) ? undefined : next();
    if (req.path !== "/") return next();
    res.redirect(303, "/profile");
  });
  return router;
}

/** A page, or a file of the console. */
function isPageRequest(req: Request): boolean {
  if ((req.method !== "GET" && req.method !== "HEAD") || !mayBePage(req.path)) return false;
  if (req.path === "/" || req.path.startsWith("/assets/") || FILE.test(req.path)) return true;
  return (req.headers.accept ?? "").includes("text/html");
}

/** Beside the page: `/mark.svg`. */
const FILE = /^\/[\w-]+\.[a-z0-9]+$/;
