/** Routes of the console's page about its own session: the user, other sessions, confirmation, and sign-out. */
import { type Clock, Secret } from "@perdure/base";
import { optionalSeconds, seconds, shaped } from "@perdure/cloud-api";
import { bodyOf, respond, TenancyApiError } from "@perdure/cloud-requests";
import { PASSWORD_CHARS_MAX, requesterOf, SESSIONS_PER_USER_MAX } from "@perdure/identity";
import type { SessionRecord } from "@perdure/postgres";
import type { PageSessions } from "@perdure/sign-in";
import { confirmByPassword, confirmedUntilMs } from "@perdure/sign-in";
import type { Request, Response } from "express";
import { z } from "zod";
import type { PageGuard } from "./page-guard.js";

const confirmShape = z.strictObject({ password: z.string().max(4 * PASSWORD_CHARS_MAX) });
const endShape = z.strictObject({ sessionId: z.string().max(64) });

export class SessionRoutes {
  readonly #pageSessions: PageSessions;
  readonly #guard: PageGuard;

  constructor(pageSessions: PageSessions, guard: PageGuard) {
    this.#pageSessions = pageSessions;
    this.#guard = guard;
  }

  /** `GET /console/session` → `{user, csrf, confirmedUntil, confirmBy, expiresAt, apiUrl}`; 401 without a session. */
  async show(req: Request, res: Response): Promise<void> {
    const { session, csrf } = await this.#guard.arriving(req);
    const { database, tokens, oidc } = this.#pageSessions.ports;
    const [user, password] = await Promise.all([
      database.tables.users.get(session.userId),
      database.tables.logins.password(session.userId),
    ]);
    if (user === undefined) throw new TenancyApiError("PERD0401", "This user does not exist any more");
    respond(res, {
      user: { userId: user.id, email: user.email, name: user.name },
      csrf,
      confirmedUntil: optionalSeconds(confirmedUntilMs(session) || undefined) ?? null,
      confirmBy: { password: password !== undefined, provider: oidc?.name ?? null },
      expiresAt: seconds(session.expiresAtMs),
      apiUrl: tokens.issuer,
    });
  }

  /** `GET /console/sessions` → `{sessions: [{sessionId, kind, label, remoteAddress, createdAt, expiresAt, isCurrent}]}`, newest first. */
  async list(req: Request, res: Response): Promise<void> {
    const { session } = await this.#guard.admit(req);
    const { database, clock } = this.#pageSessions.ports;
    const all = await database.tables.logins.sessionsOf(session.userId, clock.nowMs(), 2 * SESSIONS_PER_USER_MAX);
    respond(res, { sessions: all.map((one) => view(one, session.id)) });
  }

  /** `POST /console/sessions/end` `{sessionId}` → 204; 404 for a session that is over, or of another user. */
  async end(req: Request, res: Response): Promise<void> {
    const { session } = await this.#guard.admit(req);
    const { sessionId } = shaped(endShape, await jsonOf(req, this.#pageSessions.ports.clock));
    if (!(await this.#pageSessions.end(req, res, session, sessionId, "login.revoke")))
      throw new TenancyApiError("PERD0404", "Unknown session");
    if (sessionId === session.id) this.#pageSessions.browser.clearCookie(res, "session");
    res.status(204).end();
  }

  /** `POST /console/confirm` `{password}` → 204; 403 when it is wrong, 409 for a user without a password, 429. */
  async confirm(req: Request, res: Response): Promise<void> {
    const { session } = await this.#guard.admit(req);
    const { password } = shaped(confirmShape, await jsonOf(req, this.#pageSessions.ports.clock));
    switch (await confirmByPassword(this.#pageSessions.ports, session, new Secret(password), requesterOf(req, res))) {
      case "confirmed":
        res.status(204).end();
        return;
      case "wrong":
        throw new TenancyApiError("PERD0403", "The password is wrong");
      default:
        throw new TenancyApiError("PERD0409", "You have no password here: confirm with your provider");
    }
  }

  /** `POST /console/logout` → 204. */
  async logout(req: Request, res: Response): Promise<void> {
    const { session } = await this.#guard.admit(req);
    await this.#pageSessions.end(req, res, session, session.id, "login.sign-out");
    this.#pageSessions.browser.clearCookie(res, "session");
    res.status(204).end();
  }
}

/** A form of another site can send text, but not with the content type of JSON. */
async function jsonOf(req: Request, clock: Clock): Promise<unknown> {
  if (!/^application\/json(;|$)/i.test(req.headers["content-type"] ?? "")) {
    throw new TenancyApiError("PERD0400", "The request body must be application/json");
  }
  return await bodyOf(req, clock);
}

function view({ id, kind, label, remoteAddress, createdAtMs, expiresAtMs }: SessionRecord, currentId: string) {
  return {
    sessionId: id,
    kind,
    label,
    remoteAddress,
    createdAt: seconds(createdAtMs),
    expiresAt: seconds(expiresAtMs),
    isCurrent: id === currentId,
  };
}
