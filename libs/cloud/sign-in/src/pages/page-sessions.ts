/** Functions that several pages share: the user of the session, begin and end of sessions, common fields. */
import { randomBase62, type UserId } from "@perdure/cloud";
import type { TenancyOptions, TenancyPorts } from "@perdure/cloud-api";
import { type CallerFacts, OperationCall, userHandlers } from "@perdure/cloud-api";
import type { Oidc, Passwords } from "@perdure/identity";
import { auditLogin, beginSession, browserName, hashOf, newDevice, requesterOf, returnPath, subjectOf } from "@perdure/identity";
import type { SessionRecord } from "@perdure/postgres";
import type { Request, Response } from "express";
import type { Browser } from "../browser.js";
import { confirmedUntilMs } from "../confirmations.js";
import { type Html, html } from "../html.js";

export interface PagesPorts extends TenancyPorts {
  readonly passwords: Passwords;
  readonly oidc: Oidc | undefined;
  readonly verifiesEmail: boolean;
}

export class PageSessions {
  readonly ports: PagesPorts;
  readonly browser: Browser;
  readonly #options: TenancyOptions;

  constructor(ports: PagesPorts, options: TenancyOptions, browser: Browser) {
    this.ports = ports;
    this.browser = browser;
    this.#options = options;
  }

  /** Undefined after redirecting the user to sign in, and back to `here`. */
  async signedIn(req: Request, res: Response, here: string): Promise<SessionRecord | undefined> {
    const session = await this.browser.session(req);
    if (session === undefined) res.redirect(303, `/login?return=${encodeURIComponent(returnPath(here))}`);
    return session;
  }

  /** Whether the last confirmation of the user's presence is too old. */
  isUnconfirmed(session: SessionRecord): boolean {
    return confirmedUntilMs(session) <= this.ports.clock.nowMs();
  }

  /** Redirects the user to confirm, and back to `here`. */
  requestConfirmation(res: Response, here: string): void {
    res.redirect(303, `/login/confirm?return=${encodeURIComponent(returnPath(here))}`);
  }

  /**
   * Begins a session with a new cookie; the browser's previous session ends. A user without an account gets one (free, no card).
   * `shownAtMs`: when the user authenticated, if that was not just now.
   */
  async enter(req: Request, res: Response, userId: UserId, by: string, to: string, shownAtMs?: number): Promise<void> {
    const { database, random, clock } = this.ports;
    const who = requesterOf(req, res);
    const before = await this.browser.session(req);
    if ((await database.tables.accounts.ofUser(userId)).length === 0) {
      await userHandlers.CreateAccount(this.call(req, res, userId), {});
    }
    const cookie = randomBase62(43, random);
    await database.change(async (tables) => {
      if (before !== undefined) await tables.logins.end(before.id, before.userId, clock.nowMs());
      const session = {
        userId,
        kind: "browser" as const,
        label: browserName(req.headers["user-agent"]),
        remoteAddress: who.remoteAddress,
        shownAtMs,
      };
      const id = await beginSession(this.ports, tables, session, hashOf(cookie));
      await auditLogin(this.ports, tables, who, userId, "login.sign-in", { with: by, session: id });
    });
    this.browser.setCookie(res, "session", cookie);
    const user = await database.tables.users.get(userId);
    if (user !== undefined) this.browser.setCookie(res, "device", newDevice(this.ports, subjectOf(user.email.toLowerCase())));
    res.redirect(303, to);
  }

  /** `id`: of the session to end. False when it was over, or belongs to another user. */
  async end(req: Request, res: Response, { userId }: SessionRecord, id: string, action: string): Promise<boolean> {
    const { database, clock } = this.ports;
    return await database.change(async (tables) => {
      if ((await tables.logins.end(id, userId, clock.nowMs())) === undefined) return false;
      await auditLogin(this.ports, tables, requesterOf(req, res), userId, action, { session: id, by: "user" });
      return true;
    });
  }

  /** `presence`: for a page that can confirm the user's presence. */
  call(req: Request, res: Response, userId: UserId, presence?: CallerFacts["presence"]): OperationCall {
    return new OperationCall(this.ports, this.#options, { userId, ...requesterOf(req, res), presence });
  }

  /** Hidden fields of forms that redirect to `to` in the end. */
  hidden(req: Request, res: Response, to: string): Html {
    return html`${this.browser.hidden(req, res)}<input type="hidden" name="return" value="${to}">`;
  }
}

/** Looked up like a user, so that requests for unknown addresses take the same path. */
export const UNKNOWN_USER = "user_nobody" as UserId;
