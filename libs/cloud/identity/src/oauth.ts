/**
 * OAuth for command lines (cloud.md §1.7): a device requests a code, its owner approves it on a page, the device polls for tokens.
 * Refresh tokens change with each use; the second use of an old one means that it or its successor was stolen, and ends the session.
 */
import { networkOf, randomBase62, type UserId } from "@perdure/cloud";
import { apiErrorOf, errorBody, logFailure, TenancyApiError } from "@perdure/cloud-requests";
import { AlreadyThere } from "@perdure/postgres";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { DEVICE_CODE_MS, DEVICE_NAME_CHARS_MAX, DEVICE_POLL_MS, USER_CODE_TRIES_MAX } from "./limits.js";
import type { IdentityPorts } from "./ports.js";
import type { Rates } from "./rates.js";
import { formOf } from "./requests.js";
import { auditLogin, beginSession, hashOf, type Requester, requesterOf, requestIdOf } from "./sessions.js";

/** The only client; it has no secret. */
const CLIENT_ID = "perdure-cli";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ";

type OAuthProblem =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "unsupported_grant_type"
  | "authorization_pending"
  | "slow_down"
  | "access_denied"
  | "expired_token";

/** RFC 6749 §5.2, RFC 8628 §3.5. */
class OAuthError extends TenancyApiError {
  readonly problem: OAuthProblem;

  constructor(problem: OAuthProblem, message: string) {
    super("PERD0400", message);
    this.problem = problem;
  }
}

export function oauthRoutes(ports: IdentityPorts, rates: Rates): Router {
  const oauth = new OAuth(ports, rates);
  const router = Router({ caseSensitive: true, strict: true });
  router.post(
    "/oauth/device_authorization",
    reportErrors(ports, (req, res) => oauth.deviceAuthorization(req, res)),
  );
  router.post(
    "/oauth/token",
    reportErrors(ports, (req, res) => oauth.token(req, res)),
  );
  router.post(
    "/oauth/revoke",
    reportErrors(ports, (req, res) => oauth.revoke(req, res)),
  );
  router.get("/oauth/jwks.json", async (_req, res) => shared(res, await ports.tokens.jwks()));
  router.get("/.well-known/openid-configuration", (_req, res) => shared(res, configurationOf(ports.tokens.issuer)));
  // The official command line requests its client id; it can log in only where WorkOS knows that client (cloud.md §1.6, option B).
  router.get("/.auth-config", () => {
    throw new TenancyApiError(
      "PERD0404",
      "Use 'perdure login' to log in here: it writes the configuration of this command line too",
    );
  });
  return router;
}

class OAuth {
  readonly #ports: IdentityPorts;
  readonly #rates: Rates;

  constructor(ports: IdentityPorts, rates: Rates) {
    this.#ports = ports;
    this.#rates = rates;
  }

  async deviceAuthorization(req: Request, res: Response): Promise<void> {
    const form = await formOf(req, this.#ports.clock);
    checkClient(form);
    const { clock, random, database, addresses } = this.#ports;
    const { remoteAddress } = requesterOf(req, res);
    await this.#rates.take("device code by address", networkOf(remoteAddress));
    const deviceName = shown(form.get("device_name")) ?? shown(req.headers["user-agent"]) ?? "a device without a name";
    const deviceCode = `dc_${randomBase62(43, random)}`;
    const createdAtMs = clock.nowMs();
    const times = { intervalMs: DEVICE_POLL_MS, createdAtMs, expiresAtMs: createdAtMs + DEVICE_CODE_MS };
    for (let tries = 1; ; tries++) {
      const userCode = this.#userCode();
      const hashes = { deviceHash: hashOf(deviceCode), userCodeHash: hashOf(userCode) };
      try {
        await database.tables.deviceCodes.insert({ ...hashes, deviceName, remoteAddress, ...times });
      } catch (cause) {
        if (cause instanceof AlreadyThere && tries < USER_CODE_TRIES_MAX) continue;
        throw cause;
      }
      const written = `${userCode.slice(0, 4)}-${userCode.slice(4)}`;
      res.json({
        device_code: deviceCode,
        user_code: written,
        verification_uri: `${addresses.consoleUrl}/device`,
        verification_uri_complete: `${addresses.consoleUrl}/device?user_code=${written}`,
        expires_in: DEVICE_CODE_MS / 1_000,
        interval: DEVICE_POLL_MS / 1_000,
      });
      return;
    }
  }

  async token(req: Request, res: Response): Promise<void> {
    const form = await formOf(req, this.#ports.clock);
    checkClient(form);
    const who = requesterOf(req, res);
    await this.#rates.take("token by address", networkOf(who.remoteAddress));
    switch (form.get("grant_type")) {
      case DEVICE_GRANT:
        return answer(res, await this.#device(needed(form, "device_code"), who));
      case "refresh_token":
        return answer(res, await this.#refresh(needed(form, "refresh_token"), who));
      default:
        throw new OAuthError("unsupported_grant_type", "Only device codes and refresh tokens are exchanged here");
    }
  }

  /** Always 200, so that the answer does not reveal whether the token existed (RFC 7009). */
  async revoke(req: Request, res: Response): Promise<void> {
    const token = (await formOf(req, this.#ports.clock)).get("token");
    const who = requesterOf(req, res);
    await this.#rates.take("token by address", networkOf(who.remoteAddress));
    if (token !== undefined) {
      const { database, tokens, clock } = this.#ports;
      const verified = await tokens.verify(token);
      await database.change(async (tables) => {
        const session =
          verified === undefined
            ? (await tables.logins.lockRefreshToken(hashOf(token)))?.session
            : { id: verified.sessionId, userId: verified.userId };
        if (session === undefined) return;
        if ((await tables.logins.end(session.id, session.userId, clock.nowMs())) === undefined) return;
        await auditLogin(this.#ports, tables, who, session.userId, "login.revoke", { session: session.id, by: "token" });
      });
    }
    res.json({});
  }

  /** Grants a device code. Its writes are committed also when the answer is an error, so errors are returned, and thrown outside. */
  async #device(deviceCode: string, who: Requester): Promise<Grant | OAuthError> {
    const { database, clock } = this.#ports;
    const hash = hashOf(deviceCode);
    return await database.change(async (tables) => {
      const nowMs = clock.nowMs();
      const code = await tables.deviceCodes.lock(hash);
      if (code === undefined || code.status === "used") return new OAuthError("invalid_grant", "Unknown or used device code");
      if (code.expiresAtMs <= nowMs) return new OAuthError("expired_token", "The code has expired: log in again");
      if (code.status === "denied") return new OAuthError("access_denied", "The login was denied");
      if (code.status === "pending" || code.userId === undefined) {
        const isFast = code.polledAtMs !== undefined && nowMs - code.polledAtMs < code.intervalMs;
        await tables.deviceCodes.polled(hash, nowMs, code.intervalMs + (isFast ? DEVICE_POLL_MS : 0));
        return isFast
          ? new OAuthError("slow_down", "Polls come too fast: wait five seconds longer")
          : new OAuthError("authorization_pending", "The login waits for approval");
      }
      await tables.deviceCodes.used(hash);
      const { userId, deviceName: label, remoteAddress } = code;
      const sessionId = await beginSession(this.#ports, tables, { userId, kind: "device", label, remoteAddress });
      await auditLogin(this.#ports, tables, who, userId, "login.device", { device: label, session: sessionId });
      return await this.#grant(tables.logins, userId, sessionId);
    });
  }

  async #refresh(refreshToken: string, who: Requester): Promise<Grant | OAuthError> {
    const { database, clock } = this.#ports;
    const hash = hashOf(refreshToken);
    const unknown = new OAuthError("invalid_grant", "Unknown, used or revoked refresh token: log in again");
    return await database.change(async (tables) => {
      const nowMs = clock.nowMs();
      const storedToken = await tables.logins.lockRefreshToken(hash);
      if (storedToken === undefined) return unknown;
      const { session, isUsed } = storedToken;
      if (session.endedAtMs !== undefined || session.expiresAtMs <= nowMs) return unknown;
      if (isUsed) {
        await tables.logins.end(session.id, session.userId, nowMs);
        const details = { session: session.id, by: "reuse of a refresh token" };
        await auditLogin(this.#ports, tables, who, session.userId, "login.revoke", details);
        return unknown;
      }
      await this.#rates.take("refresh of session", session.id);
      await tables.logins.useRefreshToken(hash, nowMs);
      return await this.#grant(tables.logins, session.userId, session.id);
    });
  }

  async #grant(
    logins: { addRefreshToken(hash: Uint8Array, sessionId: string, nowMs: number): Promise<void> },
    userId: UserId,
    sessionId: string,
  ): Promise<Grant> {
    const { tokens, random, clock } = this.#ports;
    const refreshToken = `rt_${randomBase62(43, random)}`;
    await logins.addRefreshToken(hashOf(refreshToken), sessionId, clock.nowMs());
    const { token, expiresInSeconds } = await tokens.issue(userId, sessionId);
    return {
      access_token: token.reveal(),
      token_type: "Bearer",
      expires_in: expiresInSeconds,
      refresh_token: refreshToken,
      scope: "openid offline_access",
    };
  }

  /** Eight letters, each of twenty with the same probability. */
  #userCode(): string {
    const bytes = new Uint8Array(32);
    let code = "";
    while (code.length < 8) {
      this.#ports.random.bytes(bytes);
      for (const byte of bytes) if (byte < 240 && code.length < 8) code += USER_CODE_LETTERS[byte % 20];
    }
    return code;
  }
}

interface Grant {
  readonly access_token: string;
  readonly token_type: "Bearer";
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly scope: string;
}

/** Normalises a typed code to the form that is hashed; undefined when it cannot be a code. */
export function userCodeOf(typed: string | undefined): string | undefined {
  const letters = (typed ?? "").toUpperCase().replace(/[\s-]/g, "");
  return /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(letters) ? letters : undefined;
}

function answer(res: Response, result: Grant | OAuthError): void {
  if (result instanceof OAuthError) throw result;
  res.json(result);
}

function checkClient(form: ReadonlyMap<string, string>): void {
  if (form.get("client_id") !== CLIENT_ID) throw new OAuthError("invalid_client", `The client_id here is '${CLIENT_ID}'`);
}

function needed(form: ReadonlyMap<string, string>, name: string): string {
  const value = form.get(name);
  if (value === undefined || value === "") throw new OAuthError("invalid_request", `'${name}' is missing`);
  return value;
}

/** A name that can be displayed: no control or formatting characters, bounded length. */
function shown(name: string | undefined): string | undefined {
  const text = (name ?? "").replace(/\p{C}/gu, "").trim().slice(0, DEVICE_NAME_CHARS_MAX);
  return text === "" ? undefined : text;
}

/** Errors in the format of OAuth and of the Cloud API at once. */
function reportErrors(ports: IdentityPorts, work: (req: Request, res: Response) => Promise<void>): RequestHandler {
  return async (req, res) => {
    try {
      await work(req, res);
    } catch (cause) {
      const { error, isExpected } = apiErrorOf(cause);
      const requestId = requestIdOf(res);
      if (!isExpected) logFailure(ports, cause, { path: req.path, requestId }, "a request of OAuth failed");
      const problem = error instanceof OAuthError ? error.problem : (PROBLEMS[error.code] ?? "invalid_request");
      res.set(error.headers);
      res.status(error.status).json({ error: problem, error_description: error.message, ...errorBody(error, requestId) });
    }
  };
}

const PROBLEMS: Partial<Record<TenancyApiError["code"], string>> = {
  PERD0429: "slow_down",
  PERD0500: "server_error",
  PERD0503: "temporarily_unavailable",
};

/** Public, and cacheable for some minutes: keys are published a day before they sign. */
function shared(res: Response, body: object): void {
  res.set("cache-control", "public, max-age=300").json(body);
}

function configurationOf(issuer: string): object {
  return {
    issuer,
    jwks_uri: `${issuer}/oauth/jwks.json`,
    device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    grant_types_supported: [DEVICE_GRANT, "refresh_token"],
    response_types_supported: [],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["EdDSA"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    scopes_supported: ["openid", "offline_access"],
    claims_supported: ["iss", "aud", "sub", "sid", "iat", "exp", "jti"],
  };
}
