/**
 * The session of a login: access tokens are renewed before they expire, by one process at a time, because a refresh token works once
 * (cloud.md §1.7). The process that renews also stores the new access token in the file of the official command line.
 */
import { type Clock, Secret } from "@perdure/base";
import { CloudClient, OAuthClient, OAuthClientError, type OAuthTokens } from "@perdure/cloud-client";
import {
  type CredentialsStore,
  OFFICIAL_API,
  type OfficialConfig,
  type StoredCredentials,
  type StoredLogin,
} from "../config/index.js";
import { FAILED, fail, USAGE } from "../errors.js";
import { RENEW_BEFORE_MS } from "../limits.js";
import type { Variables } from "../variables.js";

/** Default address of the Cloud API. */
export const DEFAULT_API = "https://api.us.perdure.dev";

interface SessionOptions {
  readonly store: CredentialsStore;
  /** A function, because a login may change the folder. */
  readonly official: () => OfficialConfig;
  readonly variables: Variables;
  readonly clock: Clock;
  readonly userAgent: string;
  readonly fetch: typeof fetch;
}

export class LoginSession {
  readonly #options: SessionOptions;
  /** False: tokens are used as they are, even when they expire soon. */
  mayRenew = true;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Origin of the Cloud API in use. Only the shell may set another one, because users enter their passwords there. */
  get apiOrigin(): string {
    const given = this.#options.variables.ofShell("PERDURE_API_URL");
    if (given !== undefined) return originOf(given.value, given.name);
    return this.#options.store.read().current ?? DEFAULT_API;
  }

  /** The login at the Cloud API in use; undefined when there is none. */
  get login(): StoredLogin | undefined {
    return this.#options.store.read().logins[this.apiOrigin];
  }

  /** The login at the Cloud API in use. Ends the command when there is none. */
  requireLogin(): StoredLogin {
    return this.login ?? fail(FAILED, `You are not logged in at ${this.apiOrigin}`, "Log in: perdure login");
  }

  oauth(): OAuthClient {
    const { clock, userAgent, fetch } = this.#options;
    return new OAuthClient({ baseUrl: this.apiOrigin, clock, userAgent, fetch });
  }

  /** An authenticated client. Ends the command when there is no login. */
  client(): CloudClient {
    this.requireLogin();
    const { userAgent, fetch } = this.#options;
    return new CloudClient({ baseUrl: this.apiOrigin, accessToken: () => this.accessToken(), userAgent, fetch });
  }

  /** Token of the login at the Cloud API in use, valid for some more minutes. Ends the command when there is no login, or it has ended. */
  async accessToken(): Promise<Secret> {
    return await this.accessTokenOf(this.apiOrigin);
  }

  async accessTokenOf(apiOrigin: string): Promise<Secret> {
    const login = this.#options.store.read().logins[apiOrigin];
    if (login === undefined) return fail(FAILED, `You are not logged in at ${apiOrigin}`, "Log in: perdure login");
    if (!this.mayRenew || this.#isFresh(login)) return new Secret(login.accessToken);
    return await this.renew(apiOrigin);
  }

  /** Gets a new access token; with `force` even if the old one is valid for longer. */
  async renew(apiOrigin: string, force = false): Promise<Secret> {
    const { store, clock, userAgent, fetch } = this.#options;
    const previousToken = store.read().logins[apiOrigin]?.accessToken;
    const login = await store.update(async (credentials) => {
      const current = credentials.logins[apiOrigin];
      if (current === undefined) return fail(FAILED, `You are not logged in at ${apiOrigin}`, "Log in: perdure login");
      // Another process may have renewed the token while this one waited for the lock.
      if (force ? current.accessToken !== previousToken : this.#isFresh(current)) return current;
      const oauth = new OAuthClient({ baseUrl: apiOrigin, clock, userAgent, fetch });
      try {
        keep(current, await oauth.refresh(new Secret(current.refreshToken)));
      } catch (cause) {
        if (!(cause instanceof OAuthClientError)) throw cause;
        const isOver = current.expiresAtMs <= clock.nowMs();
        if (cause.problem === "invalid_grant")
          fail(FAILED, `Your login at ${apiOrigin} has ended`, "Log in again: perdure login", cause);
        if (isOver || force)
          fail(FAILED, `The login cannot be renewed: ${cause.message}`, "Try again when the cloud can be reached.", cause);
      }
      return current;
    });
    await this.updateOfficial(apiOrigin, login.accessToken);
    return new Secret(login.accessToken);
  }

  #isFresh(login: StoredLogin): boolean {
    return login.expiresAtMs - this.#options.clock.nowMs() > RENEW_BEFORE_MS;
  }

  /** Stores a new login, and makes its Cloud API the one in use. */
  async keepLogin(tokens: OAuthTokens, user: { readonly userId: string; readonly email: string }): Promise<void> {
    const apiOrigin = this.apiOrigin;
    await this.#options.store.update((credentials) => {
      const before = credentials.logins[apiOrigin];
      const isSame = before?.userId === user.userId;
      const login: StoredLogin = {
        accessToken: "",
        refreshToken: "",
        expiresAtMs: 0,
        userId: user.userId,
        email: user.email,
        accountId: isSame ? before.accountId : undefined,
        origins: isSame ? before.origins : [],
      };
      keep(login, tokens);
      credentials.logins[apiOrigin] = login;
      credentials.current = apiOrigin;
    });
  }

  /** Stores addresses that the API in use returned: its tokens may be sent there. */
  async bind(urls: readonly string[]): Promise<void> {
    const apiOrigin = this.apiOrigin;
    const origins = urls.map((url) => new URL(url).origin);
    const savedOrigins = this.login?.origins ?? [];
    if (origins.every((origin) => savedOrigins.includes(origin))) return;
    await this.#options.store.update((credentials) => {
      const login = credentials.logins[apiOrigin];
      if (login !== undefined) login.origins = [...new Set([...login.origins, ...origins])];
    });
  }

  /** Whether this program may write `[global.cloud]` of the official command line (cloud.md §1.7). */
  isOfficialOurs(apiOrigin: string, credentials: StoredCredentials = this.#options.store.read()): boolean {
    const cloud = this.#options.official().globalCloud();
    if (cloud === undefined) return true;
    if (cloud.apiBaseUrl === undefined && cloud.accessToken === undefined && cloud.clientId === undefined) return true;
    const owner = urlOriginOf(cloud.apiBaseUrl ?? OFFICIAL_API);
    return owner === apiOrigin || (owner !== undefined && credentials.logins[owner] !== undefined);
  }

  /**
   * Writes the access token into the file of the official command line, unless another provider's is there. Resolves with whether it did.
   */
  async updateOfficial(apiOrigin: string, accessToken: string): Promise<boolean> {
    const credentials = this.#options.store.read();
    if (credentials.current !== apiOrigin || !this.isOfficialOurs(apiOrigin, credentials)) return false;
    let isOurs = true;
    await this.#options.official().edit(() => {
      isOurs = this.isOfficialOurs(apiOrigin, credentials);
      if (!isOurs) return [];
      const table = ["global", "cloud"];
      return [
        { table, key: "api_base_url", value: apiOrigin },
        { table, key: "access_token", value: accessToken },
      ];
    });
    return isOurs;
  }
}

function keep(login: StoredLogin, tokens: OAuthTokens): void {
  login.accessToken = tokens.accessToken.reveal();
  login.refreshToken = tokens.refreshToken.reveal();
  login.expiresAtMs = tokens.expiresAtMs;
}

function urlOriginOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

/** Ends the command when it is not an `http:` or `https:` URL. */
export function originOf(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return fail(USAGE, `${name} is '${text}', which is not a URL`, "It must begin with https:// or http://");
  }
  return url.origin;
}
