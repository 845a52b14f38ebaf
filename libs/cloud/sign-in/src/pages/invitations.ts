/** Accepting an invitation to an account. */
import { networkOf } from "@perdure/cloud";
import { userHandlers } from "@perdure/cloud-api";
import { queryOf, requesterOf } from "@perdure/identity";
import type { Request, Response } from "express";
import { show } from "../browser.js";
import { field } from "../fields.js";
import { html, page } from "../html.js";
import type { PageSessions } from "./page-sessions.js";

export class InvitationPages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  async form(req: Request, res: Response): Promise<void> {
    const token = queryOf(req).get("token");
    const here = token === undefined ? "/invitation" : `/invitation?token=${token}`;
    const session = await this.#pageSessions.signedIn(req, res, here);
    if (session === undefined) return;
    const user = await this.#pageSessions.ports.database.tables.users.get(session.userId);
    const hint = token === undefined ? "The text from the mail: inv_ and 43 letters and digits." : undefined;
    const body = html`<p>You are signed in as <b>${user?.email}</b>. Join the account that you were invited to?</p>
<form method="post" action="/invitation">${this.#pageSessions.browser.hidden(req, res)}
${field({ name: "token", label: "Invitation", autocomplete: "off", charsMax: 64, value: token, hint, isFirst: token === undefined })}
<div class="actions"><button>Join</button><a class="button second" href="/">Not now</a></div></form>`;
    show(res, 200, page("Invitation", body));
  }

  async accept(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const session = await this.#pageSessions.signedIn(req, res, "/invitation");
    if (session === undefined) return;
    await this.#pageSessions.ports.rates.take("invitation by address", networkOf(requesterOf(req, res).remoteAddress));
    const call = this.#pageSessions.call(req, res, session.userId);
    const { role } = await userHandlers.AcceptInvitation(call, { token: form.get("token") ?? "" });
    const body = html`<p>You are a member now, with the role <b>${role}</b>.</p>
<p class="actions"><a class="button" href="/">Open the console</a></p>`;
    show(res, 200, page("Welcome", body));
  }
}
