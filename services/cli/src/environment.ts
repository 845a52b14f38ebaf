/**
 * Selects the environment of a command: its addresses and its credential. A credential belongs to the hosts for which it was issued; no
 * other address receives it (cloud.md §1.1, T34).
 */
import { Secret } from "@perdure/base";
import type { LoginSession } from "./cloud/session.js";
import { originOf } from "./cloud/session.js";
import type { CredentialsStore, OfficialConfig, Profile } from "./config/index.js";
import { FAILED, fail } from "./errors.js";
import type { EnvironmentVariable, Variables } from "./variables.js";

export const LOCAL = "local";
const LOCAL_ADMIN = "http://localhost:9070";
const LOCAL_INGRESS = "http://localhost:8080";

/** The environment that a command uses. */
export interface SelectedEnvironment {
  /** Name of its profile; `local` is this machine. */
  readonly name: string;
  /** Origin of the selection, as text for the user: `--env`, a variable, a file. */
  readonly chosenBy: string;
  readonly kind: "local" | "cloud" | "other";
  /** Base of the management API, without a slash at the end; may have a path. */
  readonly adminUrl: string;
  readonly ingressUrl: string;
  /** Account of the environment; only in profiles of the cloud. */
  readonly accountId: string | undefined;
  readonly environmentId: string | undefined;
  /**
   * The `Bearer` token for this address; undefined when none was issued for its host. Renewed when it expires soon. Ends the command when
   * the login of a profile of the cloud has ended.
   */
  credential(url: string): Promise<Secret | undefined>;
}

interface SelectionPorts {
  readonly variables: Variables;
  readonly official: OfficialConfig;
  readonly session: LoginSession;
  readonly store: CredentialsStore;
  /** Called once, when an address gets no credential although there is one. */
  readonly warn: (line: string) => void;
}

interface SourcedUrl {
  readonly url: string;
  /** The variable that set it; undefined for a value of the profile. */
  readonly from: EnvironmentVariable | undefined;
}

/** `requestedName`: the value of `--env`. Ends the command when there is no profile of that name. */
export function selectEnvironment(requestedName: string | undefined, ports: SelectionPorts): SelectedEnvironment {
  const { variables, official } = ports;
  const { name, chosenBy } = nameOf(requestedName, variables, official);
  const profile = official.profile(name);
  if (profile === undefined && name !== LOCAL) {
    const names = [LOCAL, ...official.profiles().map((one) => one.name)];
    fail(
      FAILED,
      `There is no environment '${name}' here (${chosenBy})`,
      `Known environments: ${[...new Set(names)].join(", ")}. Add one of the cloud: perdure env configure ${name}`,
    );
  }
  const admin = addressOf("admin", profile, variables);
  const ingress = addressOf("ingress", profile, variables);
  const isCloud = profile?.isCloud === true;
  return {
    name,
    chosenBy,
    kind: isCloud ? "cloud" : isLoopback(admin.url) ? "local" : "other",
    adminUrl: admin.url,
    ingressUrl: ingress.url,
    accountId: profile?.accountId,
    environmentId: profile?.environmentId,
    credential: credentialsOf({ profile, addresses: [admin, ingress] }, ports),
  };
}

function nameOf(
  requestedName: string | undefined,
  variables: Variables,
  official: OfficialConfig,
): { name: string; chosenBy: string } {
  if (requestedName !== undefined) return { name: requestedName, chosenBy: "--env" };
  const variable = variables.find("PERDURE_ENVIRONMENT", "RESTATE_ENVIRONMENT");
  if (variable !== undefined) return { name: variable.value, chosenBy: placeOf(variable) };
  const active = official.activeName();
  if (active !== undefined) return { name: active, chosenBy: official.paths.environment };
  return { name: LOCAL, chosenBy: "default" };
}

const PORTS = { admin: 9070, ingress: 8080 } as const;

function addressOf(api: "admin" | "ingress", profile: Profile | undefined, variables: Variables): SourcedUrl {
  const capitals = api.toUpperCase();
  const given = variables.find(`PERDURE_${capitals}_URL`, `RESTATE_${capitals}_URL`);
  if (given !== undefined) return { url: baseUrlOf(given.value, placeOf(given)), from: given };
  const host = variables.find("PERDURE_HOST", "RESTATE_HOST");
  if (host !== undefined) {
    const scheme = variables.find("PERDURE_HOST_SCHEME", "RESTATE_HOST_SCHEME")?.value ?? "http";
    return { url: baseUrlOf(`${scheme}://${host.value}:${PORTS[api]}`, placeOf(host)), from: host };
  }
  const own = api === "admin" ? profile?.adminUrl : profile?.ingressUrl;
  if (own !== undefined) return { url: baseUrlOf(own, `profile '${profile?.name}'`), from: undefined };
  if (profile?.isCloud === true) {
    fail(FAILED, `The profile '${profile.name}' has no ${api} address`, `Write it again: perdure env configure ${profile.name}`);
  }
  return { url: api === "admin" ? LOCAL_ADMIN : LOCAL_INGRESS, from: undefined };
}

/** `host:port` without a scheme is plain HTTP, as in the official command line. */
function baseUrlOf(text: string, place: string): string {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  originOf(url, place);
  return url.replace(/\/+$/, "");
}

function placeOf({ name, source }: EnvironmentVariable): string {
  return source === "shell" ? name : `${name} of .env`;
}

function isLoopback(url: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname);
}

// ── which credential goes where ──────────────────────────────────────────────────────────────────

interface Bound {
  readonly profile: Profile | undefined;
  readonly addresses: readonly SourcedUrl[];
}

function credentialsOf({ profile, addresses }: Bound, ports: SelectionPorts): SelectedEnvironment["credential"] {
  const { variables, session, store, warn } = ports;
  let isWarned = false;
  const nothing = (url: string): undefined => {
    const from = addresses.find((address) => originIs(address.url, url))?.from;
    if (!isWarned) {
      const who = from === undefined ? "" : ` (from ${placeOf(from)})`;
      warn(`${new URL(url).origin}${who} is not an address your credentials were issued for: none is sent there.`);
    }
    isWarned = true;
    return undefined;
  };
  return async (url) => {
    const ofProfile = [profile?.adminUrl, profile?.ingressUrl].some(
      (own) => own !== undefined && originIs(baseUrlOf(own, "profile"), url),
    );
    const explicit = variables.find("PERDURE_API_KEY", "PERDURE_AUTH_TOKEN", "RESTATE_AUTH_TOKEN");
    if (explicit !== undefined) {
      const isOfFile = addresses.some((address) => address.from?.source === "file" && originIs(address.url, url));
      const isChosen = addresses.some((address) => originIs(address.url, url));
      // A credential of the shell is sent to addresses of the shell, a profile or the cloud; one of `.env` only to addresses of `.env`.
      const isAllowed =
        explicit.source === "file" ? isChosen : ofProfile || (isChosen && !isOfFile) || loginFor(url, store) !== undefined;
      return isAllowed ? new Secret(explicit.value) : nothing(url);
    }
    if (profile?.bearerToken !== undefined) return ofProfile ? new Secret(profile.bearerToken) : nothing(url);
    if (profile?.isCloud !== true) return undefined;
    const apiOrigin = loginFor(url, store);
    if (apiOrigin !== undefined) return await session.accessTokenOf(apiOrigin);
    if (session.login === undefined) session.requireLogin();
    return nothing(url);
  };
}

/** The login whose tokens may be sent to this address: its API returned the address, or the address is under the domain of that API. */
function loginFor(url: string, store: CredentialsStore): string | undefined {
  const { logins } = store.read();
  const { origin } = new URL(url);
  for (const [apiOrigin, login] of Object.entries(logins)) {
    if (origin === apiOrigin || login.origins.includes(origin) || isUnder(url, apiOrigin)) return apiOrigin;
  }
  return undefined;
}

/** `https://<bare>.env.<region>.<domain>` of `https://api.<region>.<domain>`, on the ports of environments. */
function isUnder(url: string, apiOrigin: string): boolean {
  const { protocol, hostname, port } = new URL(url);
  const api = new URL(apiOrigin);
  const domain = /^api\.[a-z0-9-]+\.((?:[a-z0-9-]+\.)+[a-z0-9-]+)$/.exec(api.hostname)?.[1];
  if (domain === undefined || protocol !== "https:" || api.protocol !== "https:") return false;
  if (port !== String(PORTS.admin) && port !== String(PORTS.ingress)) return false;
  return /^2[0-9a-z]{26}\.env(?:\.[a-z0-9-]+)+$/.test(hostname) && hostname.endsWith(`.${domain}`);
}

function originIs(base: string, url: string): boolean {
  return new URL(base).origin === new URL(url).origin;
}
