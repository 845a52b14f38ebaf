/** Authentication of users: pages to sign up and in, OAuth for command lines, and optionally another provider. */
import { lookup } from "node:dns";
import type { Logger } from "@perdure/base";
import type { TenancyOptions, TenancyPorts } from "@perdure/cloud-api";
import { createEgressGuard, type EgressGuard, parseAllowance } from "@perdure/egress";
import { guardedFetch, Oidc, type OidcSettings, oauthRoutes, Passwords } from "@perdure/identity";
import { Router } from "express";
import { Browser } from "./browser.js";
import { type PagesPorts, pageRoutes } from "./pages/page-routes.js";
import { PageSessions } from "./pages/page-sessions.js";

export interface LoginOptions {
  /** Whether an address must be confirmed before its user signs in with a password. */
  readonly verifiesEmail: boolean;
  readonly oidc: OidcSettings | undefined;
}

interface Login {
  /** Routes for the origins of pages and command lines. */
  readonly router: Router;
  /** Sessions of other pages of the same origin. */
  readonly pageSessions: PageSessions;
}

export async function openLogin(ports: TenancyPorts, tenancy: TenancyOptions, login: LoginOptions): Promise<Login> {
  const passwords = await Passwords.open(ports.random);
  const { ring, clock, random, addresses, rates } = ports;
  // Cookies belong to one host: a user must return to the host where the sign-in began.
  const redirectUri = `${addresses.consoleUrl}/login/callback`;
  const fetchOf = (settings: OidcSettings) => guardedFetch(guardFor(settings, ports.logger));
  const oidc =
    login.oidc === undefined ? undefined : new Oidc(login.oidc, { ring, clock, random, redirectUri, fetch: fetchOf(login.oidc) });
  const router = Router();
  router.use(oauthRoutes(ports, rates));
  const pagesPorts: PagesPorts = { ...ports, passwords, oidc, verifiesEmail: login.verifiesEmail };
  const pageSessions = new PageSessions(pagesPorts, tenancy, new Browser(ports));
  router.use(pageRoutes(pageSessions));
  return { router, pageSessions };
}

/** The operator configures the issuer; addresses that the issuer returns are untrusted. */
function guardFor({ issuer, allowances }: OidcSettings, logger: Logger): EgressGuard {
  const place = parseAllowance(`${new URL(issuer).origin}/`);
  const rules = {
    allowPlainHttp: false,
    ownDomains: [],
    ownRanges: [],
    allowances: [...allowances, ...(place === undefined ? [] : [place])],
  };
  return createEgressGuard(rules, {
    resolve: (hostname, done) => lookup(hostname, { all: true }, done),
    onDenied: (destination, reason) =>
      logger.warn({ destination: new URL(destination).host, reason }, "an address from the OpenID Connect provider was refused"),
  });
}
