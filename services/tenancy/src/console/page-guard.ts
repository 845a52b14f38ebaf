/**
 * Why: the console's page holds no token; its session is a cookie that no script reads (decision 0035). Browsers add cookies to requests
 * of strangers' pages too, so every request shows what only our page can know and send, and that it comes from our page.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import type { SessionRecord } from "@perdure/driver-postgres";
import type { Request } from "express";
import { TenancyApiError } from "../api/errors.js";
import type { Browser } from "../login/browser.js";

/** What pages of strangers cannot send: a name of ours makes the browser ask us first, and we allow nobody. */
export const CSRF_HEADER = "x-perdure-csrf";

export interface PageUser {
  readonly session: SessionRecord;
  /** What the page must show with each request. */
  readonly csrf: string;
}

export class PageGuard {
  readonly #browser: Browser;
  readonly #origin: string;

  /** `origin`: of the console. */
  constructor(browser: Browser, origin: string) {
    this.#browser = browser;
    this.#origin = origin;
  }

  /** Who sits there, for a page that does not know yet what to show. Throws PERD0401, PERD0403. */
  async arriving(req: Request): Promise<PageUser> {
    const cookie = this.#browser.cookie(req, "session");
    if (cookie === undefined) throw signedOut();
    this.#checkPlace(req);
    return await this.#user(req, cookie);
  }

  /** Who sits there, for everything else. Throws PERD0401, PERD0403. */
  async admit(req: Request): Promise<PageUser> {
    const cookie = this.#browser.cookie(req, "session");
    if (cookie === undefined) throw signedOut();
    this.#checkPlace(req);
    const shown = Buffer.from(headerOf(req, CSRF_HEADER));
    const expected = Buffer.from(csrfOf(cookie));
    if (shown.length !== expected.length || !timingSafeEqual(shown, expected)) {
      throw new TenancyApiError(
        "PERD0403",
        "This request did not come from the console's page, or the page is too old: load it again",
      );
    }
    return await this.#user(req, cookie);
  }

  async #user(req: Request, cookie: string): Promise<PageUser> {
    const session = await this.#browser.session(req);
    if (session === undefined) throw signedOut();
    return { session, csrf: csrfOf(cookie) };
  }

  /** Browsers say where a request comes from; who says nothing is none, and has no cookie that it did not put there itself. */
  #checkPlace(req: Request): void {
    const site = req.headers["sec-fetch-site"];
    const { origin } = req.headers;
    if (site !== undefined && site !== "same-origin" && site !== "none") throw elsewhere();
    if (origin !== undefined && origin !== this.#origin) throw elsewhere();
  }
}

/** Not the proof of a form: what one page shows is of no use at the other. */
function csrfOf(cookie: string): string {
  return createHash("sha256").update(`perdure console ${cookie}`).digest("base64url");
}

function headerOf(req: Request, name: string): string {
  const value = req.headers[name];
  return typeof value === "string" ? value : "";
}

function signedOut(): TenancyApiError {
  return new TenancyApiError("PERD0401", "Nobody is signed in here");
}

function elsewhere(): TenancyApiError {
  return new TenancyApiError("PERD0403", "This request comes from another site than the console");
}
