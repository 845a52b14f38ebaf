/** Confirmation of the user's presence before dangerous actions: with the password, or at the other provider. */
import { Secret } from "@perdure/base";
import { queryOf, requesterOf, returnPath } from "@perdure/identity";
import type { Request, Response } from "express";
import { show } from "../browser.js";
import { confirmByPassword } from "../confirmations.js";
import { field, passwordField } from "../fields.js";
import { type Html, html, page } from "../html.js";
import type { PageSessions } from "./page-sessions.js";

export class ConfirmationPages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  async form(req: Request, res: Response): Promise<void> {
    const to = returnPath(queryOf(req).get("return"));
    await this.#show(req, res, 200, to);
  }

  async confirm(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const to = returnPath(form.get("return"));
    const session = await this.#pageSessions.signedIn(req, res, to);
    if (session === undefined) return;
    const password = new Secret(form.get("password") ?? "");
    const confirmation = await confirmByPassword(this.#pageSessions.ports, session, password, requesterOf(req, res));
    if (confirmation === "confirmed") return res.redirect(303, to);
    await this.#show(req, res, 403, to, confirmation === "wrong" ? "The password is wrong" : undefined);
  }

  async #show(req: Request, res: Response, status: number, to: string, problem?: string): Promise<void> {
    const session = await this.#pageSessions.signedIn(req, res, to);
    if (session === undefined) return;
    const { database, oidc } = this.#pageSessions.ports;
    const [user, password] = await Promise.all([
      database.tables.users.get(session.userId),
      database.tables.logins.password(session.userId),
    ]);
    const ways: Html[] = [];
    if (password !== undefined) {
      // Password managers need the user name.
      const email = field({
        name: "email",
        label: "E-mail",
        type: "email",
        autocomplete: "username",
        value: user?.email,
        isReadOnly: true,
      });
      ways.push(html`<form method="post" action="/login/confirm">${this.#pageSessions.hidden(req, res, to)}${email}
${passwordField({ isWrong: problem !== undefined, isFirst: true })}<div class="actions"><button>Confirm</button></div></form>`);
    }
    if (oidc !== undefined) {
      const href = `/login/provider?confirm=1&return=${encodeURIComponent(to)}`;
      ways.push(html`<p class="${password === undefined ? "actions" : "below"}"><a class="button ${password === undefined ? "" : "second"}"
href="${href}">Confirm with ${oidc.name}</a></p>`);
    }
    if (ways.length === 0)
      ways.push(html`<p>You have no password here: <a href="/password/forgot">choose one</a>, then sign in with it.</p>`);
    const body = html`<p>This action grants lasting access, or cannot be undone. Confirm that you are
<b>${user?.email}</b>; the confirmation is valid for a quarter of an hour.</p>${ways}`;
    show(res, status, page("Confirm that it is you", body, problem));
  }
}
