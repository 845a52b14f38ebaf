/** Sign-in at another provider: redirection there and back. */
import { causeMessage } from "@perdure/base";
import { networkOf, newUserId, type UserId } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";
import type { Identity } from "@perdure/identity";
import { auditLogin, queryOf, requesterOf, returnPath } from "@perdure/identity";
import type { Request, Response } from "express";
import { noteConfirmed } from "../confirmations.js";
import type { PageSessions } from "./page-sessions.js";

export class ProviderPages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  async leave(req: Request, res: Response): Promise<void> {
    const { oidc, rates } = this.#pageSessions.ports;
    if (oidc === undefined) throw new TenancyApiError("PERD0404", "There is no other provider to sign in at");
    await rates.take("other provider by address", networkOf(requesterOf(req, res).remoteAddress));
    const query = queryOf(req);
    const to = returnPath(query.get("return"));
    const session = query.has("confirm") ? await this.#pageSessions.signedIn(req, res, to) : undefined;
    if (query.has("confirm") && session === undefined) return;
    const { url, cookie } = await oidc.begin(to, session?.id).catch((cause: unknown) => {
      throw this.#failed(cause);
    });
    this.#pageSessions.browser.setCookie(res, "provider", cookie);
    res.redirect(303, url);
  }

  async comeBack(req: Request, res: Response): Promise<void> {
    const { browser, ports } = this.#pageSessions;
    const { oidc, database, rates } = ports;
    if (oidc === undefined) throw new TenancyApiError("PERD0404", "There is no other provider to sign in at");
    const who = requesterOf(req, res);
    await rates.take("other provider by address", networkOf(who.remoteAddress));
    const at = req.originalUrl.indexOf("?");
    const cookie = browser.cookie(req, "provider");
    browser.clearCookie(res, "provider");
    const finished = await oidc.finish(at < 0 ? "" : req.originalUrl.slice(at), cookie).catch(async (cause: unknown) => {
      await auditLogin(ports, database.tables, who, undefined, "login.failed", { with: oidc.name });
      throw this.#failed(cause);
    });
    if (finished === undefined)
      throw new TenancyApiError("PERD0400", "This sign-in was not begun here, or took too long: try again");
    const session = await browser.session(req);
    if (finished.confirms !== undefined) {
      const { issuer, subject } = finished.identity;
      const isThem =
        session?.id === finished.confirms && (await database.tables.logins.userOfIdentity(issuer, subject)) === session.userId;
      if (session === undefined || !isThem) throw new TenancyApiError("PERD0403", `Another user is signed in at ${oidc.name}`);
      await noteConfirmed(ports, session, oidc.name, who);
      return res.redirect(303, finished.returnTo);
    }
    const userId = await this.#userOf(finished.identity, session?.userId);
    // Otherwise a redirection there and back, without a prompt, would count as confirmation at an unattended laptop (T31).
    await this.#pageSessions.enter(req, res, userId, oidc.name, finished.returnTo, finished.shownAtMs);
  }

  /**
   * The user of an identity: the linked user, else the user with the verified address. An address of a sign-up by password is not proven,
   * so
   * its password must be entered too: otherwise an attacker could sign up with a foreign address and share the account of its owner later.
   */
  async #userOf({ issuer, subject, email, name }: Identity, signedIn: UserId | undefined): Promise<UserId> {
    const { database, clock, random } = this.#pageSessions.ports;
    return await database.change(async (tables) => {
      const linked = await tables.logins.userOfIdentity(issuer, subject);
      if (linked !== undefined) return linked;
      if (email === undefined) throw new TenancyApiError("PERD0403", "The provider has not verified your e-mail address");
      const nowMs = clock.nowMs();
      const existing = await tables.users.ofEmail(email);
      if (existing === undefined) {
        const id = newUserId(nowMs, random);
        await tables.users.insert({ id, email, name, createdAtMs: nowMs, emailVerifiedAtMs: nowMs });
        await tables.logins.link(issuer, subject, id, nowMs);
        return id;
      }
      if (existing.id !== signedIn && (await tables.logins.password(existing.id)) !== undefined) {
        throw new TenancyApiError(
          "PERD0409",
          "This address has a password here: sign in with it, then come again to link the two",
        );
      }
      await tables.logins.link(issuer, subject, existing.id, nowMs);
      await tables.users.verified(existing.id, email, nowMs);
      return existing.id;
    });
  }

  #failed(cause: unknown): TenancyApiError {
    // Only the message: other properties of the error may hold data that the provider sent.
    const reason = causeMessage(cause);
    this.#pageSessions.ports.logger.warn({ reason }, "sign-in at the OpenID Connect provider failed");
    return new TenancyApiError("PERD0503", "The other provider did not sign you in: try again");
  }
}
