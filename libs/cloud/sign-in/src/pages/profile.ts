/** The list of a user's sessions, with a button to end each. */

import { SESSIONS_PER_USER_MAX } from "@perdure/identity";
import type { Request, Response } from "express";
import { show } from "../browser.js";
import { html, page } from "../html.js";
import type { PageSessions } from "./page-sessions.js";

export class ProfilePages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  async show(req: Request, res: Response): Promise<void> {
    const session = await this.#pageSessions.signedIn(req, res, "/profile");
    if (session === undefined) return;
    const { database, clock } = this.#pageSessions.ports;
    const [user, sessions] = await Promise.all([
      database.tables.users.get(session.userId),
      database.tables.logins.sessionsOf(session.userId, clock.nowMs(), 2 * SESSIONS_PER_USER_MAX),
    ]);
    const hidden = this.#pageSessions.browser.hidden(req, res);
    const rows = sessions.map(
      ({ id, kind, label, remoteAddress, createdAtMs }) => html`<li><div><b>${label}</b>${id === session.id ? " (here)" : ""}<br>
<small>${kind}, since <time datetime="${new Date(createdAtMs).toISOString()}">${new Date(createdAtMs).toISOString().slice(0, 10)}</time>,
from ${remoteAddress ?? "an unknown address"}</small></div>
<form method="post" action="/sessions/end">${hidden}<input type="hidden" name="session" value="${id}">
<button class="second" aria-label="End the session of ${label}">End</button></form></li>`,
    );
    const body = html`<dl><dt>Name</dt><dd>${user?.name ?? "none"}</dd><dt>E-mail</dt><dd>${user?.email ?? ""}</dd></dl>
<form class="actions" method="post" action="/sign-out">${hidden}<a class="button" href="/">Open the console</a>
<button class="second">Sign out</button></form>
<p class="below"><a href="/password/forgot">Choose a new password</a></p><h2>Where you are signed in</h2><ul>${rows}</ul>`;
    show(res, 200, page("Your profile", body));
  }

  async endSession(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const session = await this.#pageSessions.signedIn(req, res, "/profile");
    if (session === undefined) return;
    await this.#pageSessions.end(req, res, session, form.get("session") ?? "", "login.revoke");
    res.redirect(303, "/profile");
  }
}
