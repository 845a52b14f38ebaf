/**
 * Why: a request may carry several `Authorization` headers, ours and one for the handler behind; which one decides is said once
 * (cloud.md §6.3, §6.4), from the raw list of headers, before anything merges them.
 */

/** What a request shows. */
export interface Credentials {
  /** What follows `Bearer ` of the last value of our shape; undefined when there is none. */
  readonly credential: string | undefined;
  /** Whole values that are not ours, in order: only these may ever reach a handler. */
  readonly foreign: readonly string[];
}

/** Longer ones are nobody's. */
const CREDENTIAL_CHARS_MAX = 4_096;
const BEARER = /^bearer ([^\s,]+)$/i;
/** Wherever it stands: a value that holds a key of ours goes no further, even when it is mangled. */
const HOLDS_KEY = /key_[0-9A-Za-z]{23}\./;

/**
 * `rawHeaders`: names and values in turn, as Node has them. `issuer`: the `iss` of our access tokens. Nothing is verified here
 * but the shape.
 */
export function credentialsOf(rawHeaders: readonly string[], issuer: string): Credentials {
  let credential: string | undefined;
  const foreign: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== "authorization".length || name.toLowerCase() !== "authorization") continue;
    const value = rawHeaders[i + 1] as string;
    const bearer = BEARER.exec(value)?.[1];
    if (bearer !== undefined && isOurs(bearer, issuer)) credential = bearer;
    else if (!holdsOurs(value, issuer)) foreign.push(value);
  }
  return { credential, foreign };
}

/** Whether a text has the shape of one of our credentials: `key_…`, or a token that says that we issued it. */
function isOurs(text: string, issuer: string): boolean {
  return text.length <= CREDENTIAL_CHARS_MAX && (text.startsWith("key_") || isOurToken(text, issuer));
}

/** Ours in a value that is not well formed: another scheme, several in one line. */
function holdsOurs(value: string, issuer: string): boolean {
  return HOLDS_KEY.test(value) || value.split(/[\s,]+/).some((part) => isOurToken(part, issuer));
}

function isOurToken(text: string, issuer: string): boolean {
  if (!text.startsWith("ey") || text.length > CREDENTIAL_CHARS_MAX) return false;
  const parts = text.split(".");
  if (parts.length !== 3) return false;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] as string, "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null && "iss" in claims && claims.iss === issuer;
  } catch {
    return false; // Not JSON: whatever it is, we did not issue it.
  }
}
