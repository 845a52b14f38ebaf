/**
 * Decides which `Authorization` header of a request holds the credential (cloud.md §6.3, §6.4). A request may carry several: one for the
 * cloud and one for the handler. The decision uses the raw list of headers, before anything merges them.
 */
import { present } from "@perdure/base";

/** The `Authorization` values of a request, split into the cloud's credential and values for the handler. */
export interface Credentials {
  /** The text after `Bearer ` of the last value with the shape of a cloud credential; undefined when there is none. */
  readonly credential: string | undefined;
  /** Whole values that are not cloud credentials, in order: only these may ever reach a handler. */
  readonly foreign: readonly string[];
}

/** Length beyond which a value is not a cloud credential. */
const CREDENTIAL_CHARS_MAX = 4_096;
const BEARER = /^bearer ([^\s,]+)$/i;
/** A value that holds an API key anywhere is not forwarded, even when the value is malformed. */
const HOLDS_KEY = /key_[0-9A-Za-z]{23}\./;

/**
 * `rawHeaders`: names and values in turn, as Node has them. `issuer`: the `iss` of the cloud's access tokens. Only the shape is checked,
 * no signature.
 */
export function credentialsOf(rawHeaders: readonly string[], issuer: string): Credentials {
  let credential: string | undefined;
  const foreign: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = present(rawHeaders[i]);
    if (name.length !== "authorization".length || name.toLowerCase() !== "authorization") continue;
    const value = present(rawHeaders[i + 1]);
    const bearer = BEARER.exec(value)?.[1];
    if (bearer !== undefined && isOurs(bearer, issuer)) credential = bearer;
    else if (!holdsOurs(value, issuer)) foreign.push(value);
  }
  return { credential, foreign };
}

/** Whether a text has the shape of a cloud credential: `key_…`, or a token whose `iss` is `issuer`. */
function isOurs(text: string, issuer: string): boolean {
  return text.length <= CREDENTIAL_CHARS_MAX && (text.startsWith("key_") || isOurToken(text, issuer));
}

/** Whether a malformed value holds a cloud credential: another scheme, several credentials in one line. */
function holdsOurs(value: string, issuer: string): boolean {
  return HOLDS_KEY.test(value) || value.split(/[\s,]+/).some((part) => isOurToken(part, issuer));
}

function isOurToken(text: string, issuer: string): boolean {
  if (!text.startsWith("ey") || text.length > CREDENTIAL_CHARS_MAX) return false;
  const parts = text.split(".");
  if (parts.length !== 3) return false;
  try {
    const claims: unknown = JSON.parse(Buffer.from(present(parts[1]), "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null && "iss" in claims && claims.iss === issuer;
  } catch {
    return false; // Not JSON, so the cloud did not issue it.
  }
}
