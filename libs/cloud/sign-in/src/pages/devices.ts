/** Devices that request to act for a user: shown, and approved only by a click (T16). */
import { networkOf } from "@perdure/cloud";
import { TenancyApiError } from "@perdure/cloud-requests";
import { auditLogin, hashOf, queryOf, requesterOf, userCodeOf } from "@perdure/identity";
import type { SessionRecord } from "@perdure/postgres";
import type { Request, Response } from "express";
import { show } from "../browser.js";
import { field } from "../fields.js";
import { html, page } from "../html.js";
import { DEVICE_CODE_ATTEMPTS_MAX } from "../limits.js";
import type { PageSessions } from "./page-sessions.js";

const UNKNOWN_CODE = "This code is unknown, used or expired: check the device again";

export class DevicePages {
  readonly #pageSessions: PageSessions;

  constructor(pageSessions: PageSessions) {
    this.#pageSessions = pageSessions;
  }

  /** Shows the device of the code in the address; only a click approves it. */
  async form(req: Request, res: Response): Promise<void> {
    const typed = queryOf(req).get("user_code");
    const code = userCodeOf(typed);
    const here = pathOf(code);
    const session = await this.#pageSessions.signedIn(req, res, here);
    if (session === undefined) return;
    if (typed === undefined) return this.#showCodeForm(req, res, 200);
    if (this.#pageSessions.isUnconfirmed(session)) return this.#pageSessions.requestConfirmation(res, here);
    await this.#showDevice(req, res, session, code);
  }

  async entered(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const session = await this.#pageSessions.signedIn(req, res, "/device");
    if (session === undefined) return;
    const code = userCodeOf(form.get("user_code"));
    if (this.#pageSessions.isUnconfirmed(session)) return this.#pageSessions.requestConfirmation(res, pathOf(code));
    await this.#showDevice(req, res, session, code);
  }

  async decide(req: Request, res: Response): Promise<void> {
    const form = await this.#pageSessions.browser.form(req);
    const session = await this.#pageSessions.signedIn(req, res, "/device");
    if (session === undefined) return;
    await this.#countAttempt(req, res, session);
    const code = userCodeOf(form.get("user_code"));
    const decision = form.get("decision");
    if (decision !== "approve" && decision !== "deny") throw new TenancyApiError("PERD0400", "Approve or deny");
    const status = decision === "approve" ? "approved" : "denied";
    // Approval lasts for months: neither an unattended laptop nor a script in a page must be enough.
    if (status === "approved" && this.#pageSessions.isUnconfirmed(session))
      return this.#pageSessions.requestConfirmation(res, pathOf(code));
    const { ports } = this.#pageSessions;
    const device = await ports.database.change(async (tables) => {
      if (code === undefined) return undefined;
      const decided = await tables.deviceCodes.decide(hashOf(code), status, session.userId, ports.clock.nowMs());
      if (decided === undefined) return undefined;
      const details = { device: decided.deviceName, from: decided.remoteAddress ?? null };
      await auditLogin(ports, tables, requesterOf(req, res), session.userId, `login.device-${decision}`, details);
      return decided;
    });
    if (device === undefined) return this.#showCodeForm(req, res, 404, UNKNOWN_CODE);
    if (status === "approved") return showApproved(res, device.deviceName);
    const body = html`<p><b>${device.deviceName}</b> was denied. If another person sent you here, that person tried to act in your
name.</p><p class="actions"><a class="button second" href="/">Open the console</a></p>`;
    show(res, 200, page("Denied", body));
  }

  async #countAttempt(req: Request, res: Response, session: SessionRecord): Promise<void> {
    const { rates } = this.#pageSessions.ports;
    await rates.take("user code by address", networkOf(requesterOf(req, res).remoteAddress));
    await rates.take("user code by user", session.userId);
  }

  async #showDevice(req: Request, res: Response, session: SessionRecord, code: string | undefined): Promise<void> {
    await this.#countAttempt(req, res, session);
    const { database, clock } = this.#pageSessions.ports;
    const device =
      code === undefined
        ? undefined
        : await database.tables.deviceCodes.readPending(hashOf(code), DEVICE_CODE_ATTEMPTS_MAX, clock.nowMs());
    if (code === undefined || device === undefined) return this.#showCodeForm(req, res, 404, UNKNOWN_CODE);
    const user = await database.tables.users.get(session.userId);
    const minutes = Math.max(0, Math.floor((clock.nowMs() - device.createdAtMs) / 60_000));
    const age = minutes === 0 ? "less than a minute ago" : `${minutes} min ago`;
    const body = html`<p>A command line requests to act as <b>${user?.email}</b>. Approve it only if you started this yourself, just now, and it
shows this code:</p><dl><dt>Code</dt><dd class="code"><code>${code.slice(0, 4)}-${code.slice(4)}</code></dd><dt>Client</dt>
<dd>perdure, the command line</dd><dt>Device</dt><dd>${device.deviceName}</dd><dt>Address</dt><dd>${device.remoteAddress ?? "unknown"}</dd>
<dt>Requested</dt><dd>${age}</dd></dl>
<form method="post" action="/device/decide">${this.#pageSessions.browser.hidden(req, res)}<input type="hidden" name="user_code" value="${code}">
<div class="actions"><button name="decision" value="approve">Approve</button>
<button class="second" name="decision" value="deny">Deny</button></div></form>`;
    show(res, 200, page("Log in a device", body));
  }

  #showCodeForm(req: Request, res: Response, status: number, problem?: string): void {
    const code = field({
      name: "user_code",
      label: "Code",
      autocomplete: "off",
      charsMax: 16,
      hint: "As 'perdure login' shows it: XXXX-XXXX.",
      isWrong: problem !== undefined,
      isFirst: true,
    });
    const body = html`<form method="post" action="/device">${this.#pageSessions.browser.hidden(req, res)}${code}
<div class="actions"><button>Continue</button></div></form>`;
    show(res, status, page("Log in a device", body, problem));
  }
}

function pathOf(code: string | undefined): string {
  return code === undefined ? "/device" : `/device?user_code=${code}`;
}

function showApproved(res: Response, deviceName: string): void {
  const body = html`<p><b>${deviceName}</b> is logged in. Go back to your terminal: it continues by itself within seconds. Then:</p>
<pre><code>perdure env list
perdure env configure</code></pre><p>The first shows your environments, the second makes one of them a profile for both command lines.</p>
<p class="actions"><a class="button second" href="/">Open the console</a></p>`;
  show(res, 200, page("Approved", body));
}
