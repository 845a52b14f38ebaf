/** OAuth client: login of a device (RFC 8628), renewal of access tokens with a refresh token, and revocation. */
import type { Clock } from "@perdure/base";
import { Secret } from "@perdure/base/secret";
import { z } from "zod";

/** Client id of command lines; it has no secret. */
const OAUTH_CLIENT_ID = "perdure-cli";
const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** Added to the interval after `slow_down` (RFC 8628 §3.5), and the wait after a request without an answer. */
const SLOWER_MS = 5_000;

/** The OAuth server refused the request, the answer was not one of OAuth, or there was no answer. */
export class OAuthClientError extends Error {
  override readonly name = "OAuthClientError";
  /**
   * `access_denied`, `expired_token`, `invalid_grant` …; `unreachable` when there was no answer, `unexpected` when the answer is not one of
   * OAuth.
   */
  readonly problem: string;

  constructor(problem: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.problem = problem;
  }
}

export interface OAuthClientOptions {
  /** `https://api.us.perdure.dev`; a path in it is dropped. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly userAgent?: string;
  readonly fetch?: typeof fetch;
}

export interface DeviceLogin {
  readonly deviceCode: Secret;
  /** The code that the user compares with the page: `BCDF-GHJK`. */
  readonly userCode: string;
  readonly verificationUri: string;
  /** Address with the code in it; approval still takes a click. */
  readonly verificationUriComplete: string;
  readonly expiresAtMs: number;
  readonly intervalMs: number;
}

export interface OAuthTokens {
  readonly accessToken: Secret;
  readonly refreshToken: Secret;
  readonly expiresAtMs: number;
}

const deviceShape = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.number(),
  interval: z.number().default(5),
});
const tokensShape = z.object({ access_token: z.string(), refresh_token: z.string(), expires_in: z.number() });
const problemShape = z.object({ error: z.string(), error_description: z.string().optional() });

export class OAuthClient {
  readonly #options: OAuthClientOptions;

  constructor(options: OAuthClientOptions) {
    this.#options = options;
  }

  /** Begins a login; the page of approval shows `deviceName`. Rejects with `OAuthClientError`. */
  async begin(deviceName: string, signal?: AbortSignal): Promise<DeviceLogin> {
    const fields = { scope: "openid offline_access", device_name: deviceName };
    const answer = await this.#post("/oauth/device_authorization", fields, deviceShape, signal);
    return {
      deviceCode: new Secret(answer.device_code),
      userCode: answer.user_code,
      verificationUri: answer.verification_uri,
      verificationUriComplete: answer.verification_uri_complete,
      expiresAtMs: this.#options.clock.nowMs() + answer.expires_in * 1_000,
      intervalMs: answer.interval * 1_000,
    };
  }

  /**
   * Waits until the user approves or refuses the login. Rejects with `OAuthClientError` (`access_denied`, `expired_token` …) or with the
   * signal's reason.
   */
  async approved(login: DeviceLogin, signal: AbortSignal): Promise<OAuthTokens> {
    let intervalMs = login.intervalMs;
    for (;;) {
      await this.#wait(intervalMs, signal);
      try {
        return await this.#token({ grant_type: DEVICE_GRANT, device_code: login.deviceCode.reveal() }, signal);
      } catch (cause) {
        if (!(cause instanceof OAuthClientError)) throw cause;
        const isOver = this.#options.clock.nowMs() >= login.expiresAtMs;
        if (isOver) throw cause.problem === "authorization_pending" ? expired(cause) : cause;
        if (cause.problem === "slow_down" || cause.problem === "unreachable") intervalMs += SLOWER_MS;
        else if (cause.problem !== "authorization_pending") throw cause;
      }
    }
  }

  /** Renews the tokens. The old refresh token is used up: store the new one first. Rejects with `OAuthClientError`: `invalid_grant` … */
  refresh(refreshToken: Secret, signal?: AbortSignal): Promise<OAuthTokens> {
    return this.#token({ grant_type: "refresh_token", refresh_token: refreshToken.reveal() }, signal);
  }

  /** Ends the session that a refresh or access token belongs to. Rejects with `OAuthClientError` when no server answers. */
  async revoke(token: Secret, signal?: AbortSignal): Promise<void> {
    await this.#post("/oauth/revoke", { token: token.reveal() }, z.object({}), signal);
  }

  async #token(fields: Readonly<Record<string, string>>, signal: AbortSignal | undefined): Promise<OAuthTokens> {
    const answer = await this.#post("/oauth/token", fields, tokensShape, signal);
    return {
      accessToken: new Secret(answer.access_token),
      refreshToken: new Secret(answer.refresh_token),
      expiresAtMs: this.#options.clock.nowMs() + answer.expires_in * 1_000,
    };
  }

  async #post<S extends z.ZodType>(
    path: string,
    fields: Readonly<Record<string, string>>,
    shape: S,
    signal: AbortSignal | undefined,
  ): Promise<z.output<S>> {
    const { baseUrl, userAgent, fetch: fetchFn = fetch } = this.#options;
    const url = new URL(path, baseUrl);
    const init: RequestInit = {
      method: "POST",
      headers: userAgent === undefined ? {} : { "user-agent": userAgent },
      body: new URLSearchParams({ client_id: OAUTH_CLIENT_ID, ...fields }),
      redirect: "error",
    };
    let response: Response;
    let body: unknown;
    try {
      response = await fetchFn(url, signal === undefined ? init : { ...init, signal });
    } catch (cause) {
      if (signal?.aborted === true) throw cause;
      throw new OAuthClientError("unreachable", `${url.origin} cannot be reached`, cause);
    }
    try {
      body = await response.json();
    } catch (cause) {
      if (signal?.aborted === true) throw cause;
      throw new OAuthClientError("unexpected", `${url.origin} answered ${response.status} without JSON`, cause);
    }
    if (response.ok) {
      const parsed = shape.safeParse(body);
      if (parsed.success) return parsed.data;
      throw new OAuthClientError("unexpected", `${url.origin} answered in an unexpected shape: ${parsed.error.message}`);
    }
    const problem = problemShape.safeParse(body).data;
    const message = problem?.error_description ?? `${url.origin} answered ${response.status}`;
    throw new OAuthClientError(problem?.error ?? "unexpected", message);
  }

  async #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        timer.cancel();
        reject(signal.reason);
      };
      const timer = this.#options.clock.setTimer(delayMs, () => {
        signal.removeEventListener("abort", stop);
        resolve();
      });
      signal.addEventListener("abort", stop, { once: true });
    });
  }
}

function expired(cause: OAuthClientError): OAuthClientError {
  return new OAuthClientError("expired_token", "The login was not approved in time", cause);
}
