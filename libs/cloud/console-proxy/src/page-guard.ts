/**
 * Authenticates requests of the console's page, which holds no token: its session is a cookie that no script reads (decision 0035).
 * Browsers also add cookies to requests of foreign pages, so every request must carry a proof that only the console's page can read and
 * send, and an origin of the console.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { TenancyApiError } from "@perdure/cloud-requests";
import type { SessionRecord } from "@perdure/postgres";
import type { Browser } from "@perdure/sign-in";
import type { Request } from "express";

/** Foreign pages cannot send it: a custom header makes the browser send a preflight, which is always refused. */
const CSRF_HEADER = "x-perdure-csrf";

interface PageUser {
  readonly session: SessionRecord;
  /** The page must send this with each request. */
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

  /** The user of the session, for a page that is loading and has no proof yet. Throws PERD0401, PERD0403. */
  async arriving(req: Request): Promise<PageUser> {
    const cookie = this.#browser.cookie(req, "session");
    if (cookie === undefined) throw signedOut();
    this.#checkPlace(req);
    return await this.#user(req, cookie);
  }

  /** The user of the session, for all other requests. Throws PERD0401, PERD0403. */
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

  /** Browsers send the origin of a request; a client without one is not a browser, and has only cookies that it set itself. */
  #checkPlace(req: Request): void {
    const site = req.headers["sec-fetch-site"];
    const { origin } = req.headers;
    if (site !== undefined && site !== "same-origin" && site !== "none") throw elsewhere();
    if (origin !== undefined && origin !== this.#origin) throw elsewhere();
  }
}

/** Differs from the proof of forms: the proof of one page is of no use at the other. */
function csrfOf(cookie: string): string {
  return createHash("sha256").update(`perdure console ${cookie}`).digest("base64url");
}

function headerOf(req: Request, name: string): string {
  const value = req.headers[name];
  return typeof value === "string" ? value : "";
}

function signedOut(): TenancyApiError {
  return new TenancyApiError("PERD0401", "You are not signed in");
}

function elsewhere(): TenancyApiError {
  return new TenancyApiError("PERD0403", "This request comes from another site than the console");
}
