/**
 * Sign-in at an OpenID Connect provider (authorization code with PKCE, state and nonce). The state of an unfinished sign-in is in a
 * sealed cookie, so it costs no storage and works in every process.
 */
import { timingSafeEqual } from "node:crypto";
import { type Clock, fromUtf8, PerdureError, type Random, type Secret, utf8 } from "@perdure/base";
import type { KeyRing } from "@perdure/credentials";
import type { Allowance } from "@perdure/egress";
import * as client from "openid-client";
import { z } from "zod";
import type { ProviderFetch } from "./guarded-fetch.js";
import { OIDC_FLOW_MS, OIDC_SHOWN_SECONDS_MAX, OIDC_SKEW_SECONDS, OIDC_TIMEOUT_SECONDS } from "./limits.js";
import { returnPath } from "./requests.js";

export interface OidcSettings {
  /** Issuer URL as the provider writes it; `http:` only for one on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** Text of the button. */
  readonly name: string;
  /** Destinations beside the issuer that are allowed although they are not public: as `egress.allow` of a runtime. */
  readonly allowances: readonly Allowance[];
}

interface OidcPorts {
  readonly ring: KeyRing;
  readonly clock: Clock;
  readonly random: Random;
  /** Address to which the provider redirects users after sign-in. */
  readonly redirectUri: string;
  /** Sends requests to the provider. */
  readonly fetch: ProviderFetch;
}

/** The user as the provider identifies it. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** E-mail address in lower case, only when the provider marks it as verified. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

interface Finished {
  readonly identity: Identity;
  readonly returnTo: string;
  /**
   * When the user authenticated at the provider: long ago for a user with a cookie there. Undefined when the provider does not return it.
   */
  readonly shownAtMs: number | undefined;
  /** The session that the sign-in confirms; the caller must check that it belongs to the user. */
  readonly confirms: string | undefined;
}

const flowShape = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  /** The session to confirm. */
  confirms: z.string().optional(),
  begunAtMs: z.number(),
  expiresAtMs: z.number(),
});

const SEALED_AS = "login at another provider";

export class Oidc {
  readonly name: string;
  readonly #settings: OidcSettings;
  readonly #ports: OidcPorts;
  #discovered: Promise<client.Configuration> | undefined;
  /** The provider has returned a time of authentication before. */
  #saysWhen = false;

  constructor(settings: OidcSettings, ports: OidcPorts) {
    this.name = settings.name;
    this.#settings = settings;
    this.#ports = ports;
  }

  /** The URL for the browser, and the cookie that it must return with. Rejects with the provider's error. */
  async begin(returnTo: string, confirms?: string): Promise<{ readonly url: string; readonly cookie: string }> {
    const config = await this.#config();
    const { ring, clock, random, redirectUri } = this.#ports;
    const flow: z.output<typeof flowShape> = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      returnTo,
      confirms,
      begunAtMs: clock.nowMs(),
      expiresAtMs: clock.nowMs() + OIDC_FLOW_MS,
    };
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "openid email profile",
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: "S256",
      // A user who is signed in at the provider by a cookie must authenticate again.
      ...(confirms === undefined ? { max_age: String(OIDC_SHOWN_SECONDS_MAX) } : { prompt: "login", max_age: "0" }),
    });
    const cookie = Buffer.from(ring.seal(utf8(JSON.stringify(flow)), SEALED_AS, random)).toString("base64url");
    return { url: url.href, cookie };
  }

  /**
   * `query`: from the redirection back. Undefined when it is another browser, or too late; rejects when the provider refuses or its answer
   * is invalid.
   */
  async finish(query: string, cookie: string | undefined): Promise<Finished | undefined> {
    const flow = this.#opened(cookie);
    const currentUrl = new URL(`${this.#ports.redirectUri}${query}`);
    const state = currentUrl.searchParams.get("state");
    if (flow === undefined || state === null || !same(state, flow.state)) return undefined;
    const config = await this.#config();
    const tokens = await client.authorizationCodeGrant(config, currentUrl, {
      pkceCodeVerifier: flow.verifier,
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (claims === undefined) throw new Error("the provider sent no ID token");
    const shownAtMs = this.#shownAtMs(claims);
    if (flow.confirms !== undefined && shownAtMs !== undefined && shownAtMs + OIDC_SKEW_SECONDS * 1_000 < flow.begunAtMs) {
      throw new Error("the provider did not authenticate the user again");
    }
    const userInfo = claims["email"] === undefined ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : claims;
    const { email, email_verified: isVerified, name } = userInfo;
    const identity = {
      issuer: claims.iss,
      subject: claims.sub,
      email: typeof email === "string" && isVerified === true ? email.trim().toLowerCase() : undefined,
      name: typeof name === "string" ? name.slice(0, 100) : undefined,
    };
    return { identity, returnTo: returnPath(flow.returnTo), shownAtMs, confirms: flow.confirms };
  }

  /**
   * Undefined when the provider never returns a time, as many do. Such a provider was requested to prompt, or to refuse (OIDC core
   * §3.1.2.1), and the code it issued since is trusted. When a provider that returned a time before omits it now, it did not get the
   * request
   * as sent: the user changed the address on the way, and counts as not authenticated again (T31).
   */
  #shownAtMs({ auth_time: seconds }: client.IDToken): number | undefined {
    if (seconds === undefined) return this.#saysWhen ? 0 : undefined;
    this.#saysWhen = true;
    return Math.floor(seconds * 1_000);
  }

  #opened(cookie: string | undefined): z.output<typeof flowShape> | undefined {
    if (cookie === undefined) return undefined;
    try {
      const text = fromUtf8(this.#ports.ring.open(Buffer.from(cookie, "base64url"), SEALED_AS));
      const flow = flowShape.parse(JSON.parse(text));
      return flow.expiresAtMs > this.#ports.clock.nowMs() ? flow : undefined;
    } catch (cause) {
      if (cause instanceof PerdureError) return undefined; // Not sealed by this server.
      throw cause;
    }
  }

  /** Loaded once; loaded again after a failure. */
  #config(): Promise<client.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    const url = new URL(issuer);
    const execute = url.protocol === "http:" ? [client.allowInsecureRequests] : [];
    this.#discovered ??= client
      .discovery(url, clientId, undefined, client.ClientSecretBasic(clientSecret.reveal()), {
        execute,
        timeout: OIDC_TIMEOUT_SECONDS,
        [client.customFetch]: this.#ports.fetch,
      })
      .catch((cause: unknown) => {
        this.#discovered = undefined;
        throw cause;
      });
    return this.#discovered;
  }
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
