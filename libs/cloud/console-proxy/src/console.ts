/**
 * The console in the cloud (decision 0035): its page and files, and an API for that page alone. The page's session is a cookie of login;
 * no token ever reaches a script.
 *
 * the page ─▸ /console/session …            user, sessions, confirmation                this process
 * ├▸ /console/cloud/…              operations of the Cloud API                 this process
 * └▸ /console/environments/…       endpoints of environments ─▸ CLOUD-GATEWAY ─▸ RUNTIME
 */

import { answerAccountOperation, answerUserOperation } from "@perdure/cloud-api";
import { TenancyApiError } from "@perdure/cloud-requests";
import type { ConsoleHost } from "@perdure/console-host";
import type { PageSessions } from "@perdure/sign-in";
import { confirmedUntilMs } from "@perdure/sign-in";
import { type RequestHandler, type Response, Router } from "express";
import { appRoutes, type ConsoleLinks } from "./app.js";
import { EnvironmentProxy } from "./environment-proxy.js";
import type { GatewayLink } from "./gateway-link.js";
import { PageGuard } from "./page-guard.js";
import { SessionRoutes } from "./session-routes.js";

interface ConsoleRouteOptions {
  /** Link to the gateway, through which endpoints of environments are reached. */
  readonly gateway: GatewayLink;
  /** The built page; undefined where it does not exist: users then get their profile. */
  readonly host: ConsoleHost | undefined;
  readonly links: ConsoleLinks;
}

/** Routes of the console, and of the page at every path without another route: so they are registered last. */
export function consoleRoutes(pageSessions: PageSessions, { gateway, host, links }: ConsoleRouteOptions): Router {
  const { ports, browser } = pageSessions;
  const guard = new PageGuard(browser, ports.addresses.consoleUrl);
  const sessions = new SessionRoutes(pageSessions, guard);
  const proxy = new EnvironmentProxy(ports, guard, gateway);
  const router = Router({ caseSensitive: true, strict: true });

  router.use("/console", sealed);
  router.get("/console/session", (req, res) => sessions.show(req, res));
  router.get("/console/sessions", (req, res) => sessions.list(req, res));
  router.post("/console/sessions/end", (req, res) => sessions.end(req, res));
  router.post("/console/confirm", (req, res) => sessions.confirm(req, res));
  router.post("/console/logout", (req, res) => sessions.logout(req, res));
  router.post("/console/cloud/:operation", async (req, res) => {
    const { session } = await guard.admit(req);
    const call = pageSessions.call(req, res, session.userId, { confirmedUntilMs: confirmedUntilMs(session) });
    await answerUserOperation(call, String(req.params["operation"]), req, res);
  });
  router.post("/console/cloud/:account/:operation", async (req, res) => {
    const { session } = await guard.admit(req);
    const call = pageSessions.call(req, res, session.userId, { confirmedUntilMs: confirmedUntilMs(session) });
    const { account, operation } = req.params;
    await answerAccountOperation(call, String(account), String(operation), req, res);
  });
  router.use("/console/environments", (req, res) => proxy.answer(req, res));
  router.all(["/console/cloud/:operation", "/console/cloud/:account/:operation"], () => {
    throw new TenancyApiError("PERD0405", "Operations need the method POST", { allow: "POST" });
  });
  router.use(appRoutes(host, links));
  return router;
}

/** Headers of responses below `/console/`: a browser that opens one as a page runs nothing in it, and no other site may read it. */
const SEALED_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};

const sealed: RequestHandler = (_req, res: Response, next) => {
  res.set(SEALED_HEADERS);
  next();
};
