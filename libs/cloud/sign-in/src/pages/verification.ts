/**
 * Pages for links in mail: confirm an address, replace a lost password. Opening a link changes nothing, since programs open links too.
 */
import { Secret } from "@perdure/base";
import { networkOf } from "@perdure/cloud";
import {
  auditLogin,
  clearAttempts,
  emailOf,
  passwordProblem,
  queryOf,
  requesterOf,
  subjectOf,
  takeAttempt,
} from "@perdure/identity";
import { passwordChangedText, putMail } from "@perdure/mail";
import type { Request, Response } from "express";
import { show } from "../browser.js";
import { emailField, newPasswordField, passwordField } from "../fields.js";
import { html, page } from "../html.js";
import { mailLink, tokenHashOf } from "./links.js";
import type { PageSessions } from "./page-sessions.js";

const OVER = "This link is unknown, used or expired: request another one";

export class VerificationPages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  // ── address ────────────────────────────────────────────────────────────────────────────────────

  async verifyForm(req: Request, res: Response): Promise<void> {
    this.#showVerify(req, res, 200, queryOf(req).get("token") ?? "");
  }

  /** Link and password together, so that the owner of an address does not confirm an account that another person made with it. */
  async verify(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const { rates, database, passwords, clock } = this.#pageSessions.ports;
    await rates.take("link by address", networkOf(requesterOf(req, res).remoteAddress));
    const token = form.get("token") ?? "";
    const hash = tokenHashOf(token);
    const record = await database.tables.mails.token(hash, "verify", clock.nowMs());
    if (record === undefined) return showOver(res);
    const who = requesterOf(req, res);
    const attempt = {
      subject: subjectOf(record.email.toLowerCase()),
      who,
      device: this.#pageSessions.browser.cookie(req, "device"),
    };
    await takeAttempt(this.#pageSessions.ports, attempt);
    const password = await database.tables.logins.password(record.userId);
    if (!(await passwords.matches(new Secret(form.get("password") ?? ""), password))) {
      const problem = "This is not the last password that was chosen for this address";
      return this.#showVerify(req, res, 401, token, problem);
    }
    const isVerified = await database.change(async (tables) => {
      const used = await tables.mails.useToken(hash, "verify", clock.nowMs());
      if (used === undefined) return false;
      await tables.users.verified(used.userId, used.email, clock.nowMs());
      await auditLogin(this.#pageSessions.ports, tables, requesterOf(req, res), used.userId, "login.verify-email");
      return true;
    });
    if (!isVerified) return showOver(res);
    await clearAttempts(this.#pageSessions.ports, attempt);
    await this.#pageSessions.enter(req, res, record.userId, "password", "/");
  }

  // ── password reset ────────────────────────────────────────────────────────────────────────

  async forgotForm(req: Request, res: Response): Promise<void> {
    const body = html`<p>We send a link to your address, with which you choose a new one.</p>
<form method="post" action="/password/forgot">${this.#pageSessions.browser.hidden(req, res)}${emailField({ isFirst: true })}
<div class="actions"><button>Send me a link</button></div></form><p class="below"><a href="/login">Back to signing in</a></p>`;
    show(res, 200, page("Choose a new password", body));
  }

  async forgot(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const { ports } = this.#pageSessions;
    const email = emailOf(form.get("email"));
    const who = requesterOf(req, res);
    await ports.rates.take("mail by address", networkOf(who.remoteAddress));
    await ports.rates.take("mail to account", subjectOf(email));
    const message = html`<p>If the address has an account, we have written to it. The link in that mail works for half an hour.</p>`;
    show(res, 200, page("Check your mail", message));
    // After the answer, so that its duration does not reveal whether the account exists.
    await ports.database.change(async (tables) => {
      const user = await tables.users.ofEmail(email ?? "");
      if (user === undefined) return;
      await mailLink(ports, tables, "reset", { userId: user.id, email: user.email });
      await auditLogin(ports, tables, who, user.id, "login.forgot-password");
    });
  }

  async resetForm(req: Request, res: Response): Promise<void> {
    this.#showReset(req, res, 200, queryOf(req).get("token") ?? "");
  }

  /** A reader of the address's mail gets its account; sessions with the old password end. */
  async reset(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const { ports, browser } = this.#pageSessions;
    const { rates, database, passwords, clock } = ports;
    const who = requesterOf(req, res);
    await rates.take("link by address", networkOf(who.remoteAddress));
    const token = form.get("token") ?? "";
    const hash = tokenHashOf(token);
    const record = await database.tables.mails.token(hash, "reset", clock.nowMs());
    if (record === undefined) return showOver(res);
    const password = new Secret(form.get("password") ?? "");
    const problem = passwordProblem(password, record.email.toLowerCase());
    if (problem !== undefined) return this.#showReset(req, res, 400, token, problem);
    const passwordHash = await passwords.hash(password);
    const isChanged = await database.change(async (tables) => {
      const nowMs = clock.nowMs();
      const used = await tables.mails.useToken(hash, "reset", nowMs);
      if (used === undefined) return false;
      await tables.logins.setPassword(used.userId, passwordHash, nowMs);
      await tables.users.verified(used.userId, used.email, nowMs);
      const sessions = await tables.logins.endAll(used.userId, nowMs);
      await auditLogin(ports, tables, who, used.userId, "login.reset-password", { endedSessions: sessions });
      await putMail(ports, tables, { to: used.email, ...passwordChangedText(`${ports.addresses.consoleUrl}/password/forgot`) });
      return true;
    });
    if (!isChanged) return showOver(res);
    await clearAttempts(ports, { subject: subjectOf(record.email.toLowerCase()), who, device: undefined });
    browser.clearCookie(res, "session");
    res.redirect(303, "/login");
  }

  #showVerify(req: Request, res: Response, status: number, token: string, problem?: string): void {
    const body = html`<p>Enter the password that you signed up with.</p><form method="post" action="/verify">
${this.#pageSessions.browser.hidden(req, res)}<input type="hidden" name="token" value="${token}">
${passwordField({ isWrong: problem !== undefined, isFirst: true })}<div class="actions"><button>Confirm my address</button></div></form>
<p class="below"><a href="/password/forgot">Reset the password</a></p>`;
    show(res, status, page("Confirm your address", body, problem));
  }

  #showReset(req: Request, res: Response, status: number, token: string, problem?: string): void {
    const body = html`<form method="post" action="/password/reset">${this.#pageSessions.browser.hidden(req, res)}
<input type="hidden" name="token" value="${token}">${newPasswordField({ label: "New password", isWrong: problem !== undefined, isFirst: true })}
<div class="actions"><button>Change it</button></div></form><p class="below">You will be signed out everywhere.</p>`;
    show(res, status, page("Choose a new password", body, problem));
  }
}

function showOver(res: Response): void {
  const body = html`<p class="actions"><a class="button" href="/login">Sign in</a>
<a class="button second" href="/password/forgot">Choose a new password</a></p>`;
  show(res, 404, page("That did not work", body, OVER));
}
