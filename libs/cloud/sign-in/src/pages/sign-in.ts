/** Sign-in, sign-up and sign-out with an address and a password. */
import { Secret } from "@perdure/base";
import { networkOf, newUserId } from "@perdure/cloud";
import { nameShape } from "@perdure/cloud-client";
import {
  auditLogin,
  clearAttempts,
  emailOf,
  passwordProblem,
  queryOf,
  type Requester,
  requesterOf,
  returnPath,
  subjectOf,
  takeAttempt,
} from "@perdure/identity";
import { existingAccountText, putMail } from "@perdure/mail";
import { AlreadyThere } from "@perdure/postgres";
import type { Request, Response } from "express";
import { show } from "../browser.js";
import { emailField, field, newPasswordField, passwordField } from "../fields.js";
import { html, page } from "../html.js";
import { mailLink } from "./links.js";
import { type PageSessions, UNKNOWN_USER } from "./page-sessions.js";

const WRONG = "The e-mail address or the password is wrong";

interface SignUp {
  readonly email: string;
  readonly name: string | undefined;
  readonly passwordHash: string;
}

export class SignInPages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  async form(req: Request, res: Response): Promise<void> {
    const to = returnPath(queryOf(req).get("return"));
    if ((await this.#pageSessions.browser.session(req)) !== undefined) return res.redirect(303, to);
    this.#showLogin(req, res, 200, to);
  }

  /** Unknown addresses and wrong passwords get the same answer, after the same work. */
  async signIn(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const { rates, database, passwords, verifiesEmail } = this.#pageSessions.ports;
    const who = requesterOf(req, res);
    await rates.take("sign-in by address", networkOf(who.remoteAddress));
    const to = returnPath(form.get("return"));
    const email = emailOf(form.get("email"));
    const subject = subjectOf(email);
    const attempt = { subject, who, device: this.#pageSessions.browser.cookie(req, "device") };
    await takeAttempt(this.#pageSessions.ports, attempt);
    const user = await database.tables.users.ofEmail(email ?? "");
    const hash = await database.tables.logins.password(user?.id ?? UNKNOWN_USER);
    if (await passwords.matches(new Secret(form.get("password") ?? ""), hash)) {
      await clearAttempts(this.#pageSessions.ports, attempt);
      if (user === undefined || !verifiesEmail || user.emailVerifiedAtMs !== undefined) {
        return await this.#pageSessions.enter(req, res, user?.id ?? UNKNOWN_USER, "password", to);
      }
      await rates.take("mail to account", subject);
      await database.change((tables) =>
        mailLink(this.#pageSessions.ports, tables, "verify", { userId: user.id, email: user.email }),
      );
      return showCheckMail(res, 403);
    }
    this.#showLogin(req, res, 401, to, WRONG);
    // After the answer: the writes differ, and their duration must reveal nothing.
    await auditLogin(this.#pageSessions.ports, database.tables, who, user?.id, "login.failed", {
      with: "password",
      email: email ?? null,
    });
  }

  async signUpForm(req: Request, res: Response): Promise<void> {
    this.#showSignUp(req, res, 200, returnPath(queryOf(req).get("return")));
  }

  async signUp(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const { rates, passwords, verifiesEmail } = this.#pageSessions.ports;
    const who = requesterOf(req, res);
    await rates.take("sign-up by address", networkOf(who.remoteAddress));
    const to = returnPath(form.get("return"));
    const email = emailOf(form.get("email"));
    const name = nameShape.safeParse(form.get("name")).data;
    const password = new Secret(form.get("password") ?? "");
    const written = { email: form.get("email"), name };
    if (email === undefined) {
      return this.#showSignUp(req, res, 400, to, { ...written, problem: "This is not an e-mail address", about: "email" });
    }
    const problem = passwordProblem(password, email);
    if (problem !== undefined) return this.#showSignUp(req, res, 400, to, { ...written, problem, about: "password" });
    if (verifiesEmail) {
      await rates.take("mail by address", networkOf(who.remoteAddress));
      await rates.take("mail to account", subjectOf(email));
    }
    const signUp = { email, name, passwordHash: await passwords.hash(password) };
    if (!verifiesEmail) return await this.#signUpAtOnce(req, res, signUp, to);
    showCheckMail(res, 200);
    // After the answer, so that its duration does not reveal whether the account exists.
    await this.#signUpByMail(signUp, who);
  }

  async signOut(req: Request, res: Response): Promise<void> {
    const { browser } = this.#pageSessions;
    await browser.form(req);
    const session = await browser.session(req);
    if (session !== undefined) await this.#pageSessions.end(req, res, session, session.id, "login.sign-out");
    browser.clearCookie(res, "session");
    res.redirect(303, "/login");
  }

  async #signUpAtOnce(req: Request, res: Response, { email, name, passwordHash }: SignUp, to: string): Promise<void> {
    const { database, clock, random } = this.#pageSessions.ports;
    const nowMs = clock.nowMs();
    const id = newUserId(nowMs, random);
    try {
      await database.change(async (tables) => {
        await tables.users.insert({ id, email, name, createdAtMs: nowMs });
        await tables.logins.setPassword(id, passwordHash, nowMs);
        await auditLogin(this.#pageSessions.ports, tables, requesterOf(req, res), id, "login.sign-up", { with: "password" });
      });
    } catch (cause) {
      if (!(cause instanceof AlreadyThere)) throw cause;
      const problem = "This address cannot be used. If it is yours, sign in";
      return this.#showSignUp(req, res, 409, to, { problem, about: "email", email, name });
    }
    await this.#pageSessions.enter(req, res, id, "password", to);
  }

  /**
   * The user is signed in only by the link together with the password. Until then the last sign-up with the address counts: an attacker
   * who signed up with a foreign address has a password that its owner does not enter.
   */
  async #signUpByMail({ email, name, passwordHash }: SignUp, who: Requester): Promise<void> {
    const { ports } = this.#pageSessions;
    const nowMs = ports.clock.nowMs();
    await ports.database.change(async (tables) => {
      const existing = await tables.users.ofEmail(email);
      if (existing?.emailVerifiedAtMs !== undefined) {
        const { consoleUrl } = ports.addresses;
        await putMail(ports, tables, {
          to: email,
          ...existingAccountText(`${consoleUrl}/login`, `${consoleUrl}/password/forgot`),
        });
        return;
      }
      const id = existing?.id ?? newUserId(nowMs, ports.random);
      if (existing === undefined) await tables.users.insert({ id, email, name, createdAtMs: nowMs });
      // A user with an account (from a time without confirmation of addresses) has a password, or signs in at another provider.
      const wasNeverHere = (await tables.accounts.ofUser(id)).length === 0;
      if (wasNeverHere) await tables.logins.setPassword(id, passwordHash, nowMs);
      await auditLogin(ports, tables, who, id, "login.sign-up", { with: "password", verified: false });
      await mailLink(ports, tables, "verify", { userId: id, email });
    });
  }

  #showLogin(req: Request, res: Response, status: number, to: string, problem?: string): void {
    const { oidc } = this.#pageSessions.ports;
    const query = `?return=${encodeURIComponent(to)}`;
    const other =
      oidc === undefined
        ? undefined
        : html`<p class="below"><a class="button second" href="/login/provider${query}">Sign in with ${oidc.name}</a></p>`;
    const isWrong = problem !== undefined;
    const body = html`<form method="post" action="/login">${this.#pageSessions.hidden(req, res, to)}${emailField({ isWrong, isFirst: true })}
${passwordField({ isWrong })}<div class="actions"><button>Sign in</button></div></form>${other}
<p class="below">No account yet? <a href="/sign-up${query}">Sign up</a><br><a href="/password/forgot">Reset the password</a></p>`;
    show(res, status, page("Sign in", body, problem));
  }

  #showSignUp(
    req: Request,
    res: Response,
    status: number,
    to: string,
    { problem, email, name, about }: RefusedSignUp = {},
  ): void {
    const body = html`<p>Free, and without a card.</p><form method="post" action="/sign-up">${this.#pageSessions.hidden(req, res, to)}
${emailField({ value: email, isWrong: about === "email", isFirst: about !== "password" })}
${field({ name: "name", label: "Name (optional)", autocomplete: "name", charsMax: 100, isOptional: true, value: name })}
${newPasswordField({ isWrong: about === "password", isFirst: about === "password" })}
<div class="actions"><button>Sign up</button></div></form>
<p class="below">Have an account? <a href="/login?return=${encodeURIComponent(to)}">Sign in</a></p>`;
    show(res, status, page("Sign up", body, problem));
  }
}

/** Why a sign-up was refused, and the entered fields, which are shown again except the password. */
interface RefusedSignUp {
  readonly problem?: string;
  readonly about?: "email" | "password";
  readonly email?: string | undefined;
  readonly name?: string | undefined;
}

/** The same answer for known and unknown addresses. */
function showCheckMail(res: Response, status: number): void {
  const body = html`<p>We have written to your address. Open the link in that mail to continue; it works for a day.</p>
<p class="below">No mail? Check your spam folder, or <a href="/login">sign in</a> again to get another one.</p>`;
  show(res, status, page("Check your mail", body));
}
