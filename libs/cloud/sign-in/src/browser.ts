/** Reads the session of a browser, and checks that a form comes from a page of this server: by cookies that no script can read. */
import { createHash, timingSafeEqual } from "node:crypto";
import { COOKIE_PREFIX, randomBase62 } from "@perdure/cloud";
import { apiErrorOf, logFailure, TenancyApiError } from "@perdure/cloud-requests";
import type { IdentityPorts } from "@perdure/identity";
import { BROWSER_SESSION_MS, cookieOf, formOf, hashOf, OIDC_FLOW_MS, requestIdOf, setCookie } from "@perdure/identity";
import type { SessionRecord } from "@perdure/postgres";
import type { Request, RequestHandler, Response } from "express";
import { type Html, html, PAGE_HEADERS, page } from "./html.js";
import { DEVICE_COOKIE_MS } from "./limits.js";

type CookieName = "session" | "form" | "provider" | "device";

const COOKIE_LIFETIME_MS: Readonly<Record<CookieName, number>> = {
  session: BROWSER_SESSION_MS,
  form: BROWSER_SESSION_MS,
  provider: OIDC_FLOW_MS,
  device: DEVICE_COOKIE_MS,
};

export class Browser {
  readonly #ports: IdentityPorts;
  readonly #isSecure: boolean;

  constructor(ports: IdentityPorts) {
    this.#ports = ports;
    this.#isSecure = ports.addresses.consoleUrl.startsWith("https:");
  }

  cookie(req: Request, name: CookieName): string | undefined {
    return cookieOf(req, this.#named(name));
  }

  setCookie(res: Response, name: CookieName, value: string): void {
    setCookie(res, this.#named(name), value, COOKIE_LIFETIME_MS[name], this.#isSecure);
  }

  clearCookie(res: Response, name: CookieName): void {
    setCookie(res, this.#named(name), "", 0, this.#isSecure);
  }

  async session(req: Request): Promise<SessionRecord | undefined> {
    const cookie = this.cookie(req, "session");
    if (cookie === undefined) return undefined;
    return await this.#ports.database.tables.logins.ofCookie(hashOf(cookie), this.#ports.clock.nowMs());
  }

  /** The hidden field of every form: proves that this server made the page, for this browser and this session. */
  hidden(req: Request, res: Response): Html {
    let form = this.cookie(req, "form");
    if (form === undefined || !/^[0-9A-Za-z]{22}$/.test(form)) {
      form = randomBase62(22, this.#ports.random);
      this.setCookie(res, "form", form);
    }
    return html`<input type="hidden" name="csrf" value="${proof(form, this.cookie(req, "session"))}">`;
  }

  /** The posted form. Throws PERD0403 when another site made it. */
  async form(req: Request): Promise<ReadonlyMap<string, string>> {
    const site = req.headers["sec-fetch-site"];
    const form = await formOf(req, this.#ports.clock);
    const cookie = this.cookie(req, "form");
    const shown = Buffer.from(form.get("csrf") ?? "");
    const expected = Buffer.from(cookie === undefined ? "" : proof(cookie, this.cookie(req, "session")));
    const isOurs = expected.length > 0 && shown.length === expected.length && timingSafeEqual(shown, expected);
    if (!isOurs || site === "cross-site" || site === "same-site") {
      throw new TenancyApiError("PERD0403", "This form has expired, or was not made by this server: load the page again");
    }
    return form;
  }

  /** Handles a request that is answered with a page or a redirection; errors become pages too. */
  handles(work: (req: Request, res: Response) => Promise<void>): RequestHandler {
    return async (req, res) => {
      try {
        await work(req, res);
      } catch (cause) {
        const { error, isExpected } = apiErrorOf(cause);
        const requestId = requestIdOf(res);
        if (!isExpected) logFailure(this.#ports, cause, { path: req.path, requestId }, "a page of login failed");
        if (res.headersSent) return;
        res.set(error.headers);
        show(res, error.status, page("That did not work", html`<p>Request ${requestId}</p>`, error.message));
      }
    };
  }

  #named(name: CookieName): string {
    return `${this.#isSecure ? "__Host-" : ""}${COOKIE_PREFIX}${name}`;
  }
}

export function show(res: Response, status: number, text: string): void {
  res.status(status).set(PAGE_HEADERS).end(text);
}

function proof(form: string, session: string | undefined): string {
  return createHash("sha256")
    .update(`perdure form ${form} ${session ?? ""}`)
    .digest("base64url");
}
