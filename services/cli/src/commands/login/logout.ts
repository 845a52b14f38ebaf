/** `perdure logout`: removes the tokens from the cloud, from our file, and from that of the official command line. */
import { Secret } from "@perdure/base";
import { OAuthClient, OAuthClientError } from "@perdure/cloud-client";
import type { StoredLogin } from "../../config/index.js";
import { type Context, USER_AGENT } from "../../context.js";

export interface LogoutFlags {
  readonly all?: boolean;
}

export async function logout(context: Context, flags: LogoutFlags): Promise<void> {
  const { store, session, output } = context;
  const { logins } = store.read();
  const origins = flags.all === true ? Object.keys(logins) : [session.apiOrigin].filter((origin) => logins[origin] !== undefined);
  const ended: { apiUrl: string; email: string; isRevoked: boolean }[] = [];
  for (const apiUrl of origins) {
    const login = await removeLogin(context, apiUrl);
    if (login === undefined) continue;
    const isRevoked = await revoke(context, apiUrl, login);
    ended.push({ apiUrl, email: login.email, isRevoked });
  }
  output.result({ loggedOut: ended }, () => {
    for (const { apiUrl, email } of ended) output.print(`Logged out ${email} at ${apiUrl}.`);
    if (ended.length === 0) output.print("There was no login.");
  });
  for (const { apiUrl, isRevoked } of ended) {
    if (!isRevoked)
      output.warn(`${apiUrl} did not confirm the logout; the login expires there within hours, or end it on its pages now.`);
  }
}

/** Removes the login from both files first: a token that is no longer stored cannot be stolen from this machine. */
async function removeLogin(context: Context, apiOrigin: string): Promise<StoredLogin | undefined> {
  const login = await context.store.update((credentials) => {
    const stored = credentials.logins[apiOrigin];
    delete credentials.logins[apiOrigin];
    return stored;
  });
  const { official } = context;
  const isTokenOurs = (token: string | undefined): boolean => token !== undefined && token === login?.accessToken;
  if (isTokenOurs(official.globalCloud()?.accessToken)) {
    await official.edit((current) =>
      isTokenOurs(current.globalCloud()?.accessToken)
        ? [{ table: ["global", "cloud"], key: "access_token", value: undefined }]
        : [],
    );
  }
  return login;
}

async function revoke(context: Context, apiOrigin: string, login: StoredLogin): Promise<boolean> {
  const { clock, fetch } = context;
  const oauth = new OAuthClient({ baseUrl: apiOrigin, clock, userAgent: USER_AGENT, fetch });
  try {
    await oauth.revoke(new Secret(login.refreshToken), context.signal);
    return true;
  } catch (cause) {
    if (cause instanceof OAuthClientError) return false;
    throw cause;
  }
}
