/**
 * Sign-in at an OpenID Connect provider (authorization code with PKCE, state and nonce). What must be remembered on the way travels in
 * a sealed cookie, so an unfinished sign-in costs us nothing and works in every process.
 */
import { timingSafeEqual } from "node:crypto";
import { type Clock, fromUtf8, PerdureError, type Random, type Secret, utf8 } from "@perdure/base";
import type { Allowance } from "@perdure/egress";
import * as client from "openid-client";
import { z } from "zod";
import { OIDC_FLOW_MS, OIDC_SHOWN_SECONDS_MAX, OIDC_SKEW_SECONDS, OIDC_TIMEOUT_SECONDS } from "../limits.js";
import type { KeyRing } from "../secrets/key-ring.js";
import type { ProviderFetch } from "./guarded-fetch.js";
import { returnPath } from "./requests.js";

export interface OidcSettings {
  /** Of the provider, as it writes it; `http:` only for one on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  /** On the button. */
  readonly name: string;
  /** Where else than at the issuer it may be asked although that is not public: as `egress.allow` of a runtime. */
  readonly allowances: readonly Allowance[];
}

export interface OidcPorts {
  readonly ring: KeyRing;
  readonly clock: Clock;
  readonly random: Random;
  /** Where the provider sends people back. */
  readonly redirectUri: string;
  /** How it is asked. */
  readonly fetch: ProviderFetch;
}

/** Whom the provider says it is. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Only when the provider says that it was verified; lower case. */
  readonly email: string | undefined;
  readonly name: string | undefined;
}

export interface Finished {
  readonly identity: Identity;
  readonly returnTo: string;
  /** When they showed the provider who they are: long ago for who has a cookie there. Undefined when it does not say. */
  readonly shownAtMs: number | undefined;
  /** The session whose user has shown again that it is them; whether it is theirs is not known yet. */
  readonly confirms: string | undefined;
}

const flowShape = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
  /** The session whose user shows again that it is them. */
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
  /** It has told us once when somebody had shown who they are. */
  #saysWhen = false;

  constructor(settings: OidcSettings, ports: OidcPorts) {
    this.name = settings.name;
    this.#settings = settings;
    this.#ports = ports;
  }

  /** Where to send the browser, and the cookie that it must come back with. Rejects with whatever the provider fails with. */
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
      // Whoever is signed in there by a cookie must show anew who they are.
      ...(confirms === undefined ? { max_age: String(OIDC_SHOWN_SECONDS_MAX) } : { prompt: "login", max_age: "0" }),
    });
    const cookie = Buffer.from(ring.seal(utf8(JSON.stringify(flow)), SEALED_AS, random)).toString("base64url");
    return { url: url.href, cookie };
  }

  /**
   * `query`: what the browser came back with. Undefined when it is not the browser that left, or came too late; rejects when the
   * provider refuses or its answer is not good.
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
      throw new Error("the provider did not ask again who it is");
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
   * Undefined when the provider is one of the many that never say it. It was asked to prompt, or to refuse (OIDC core §3.1.2.1), and the
   * code that it gave since is believed. One that did say it, and does not this time, was not asked what we ask: whoever sits there has
   * changed the address on the way, and counts as not having shown anything (T31).
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
      if (cause instanceof PerdureError) return undefined; // Not sealed by us: somebody else's cookie.
      throw cause;
    }
  }

  /** Asked once; again after a failure. */
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
