/** Authenticates users: sessions, passwords, OAuth for command lines, other identity providers, and limits on attempts. */

export { clearAttempts, newDevice, takeAttempt } from "./account-attempts.js";
export { browserName } from "./browser-name.js";
export { guardedFetch } from "./guarded-fetch.js";
export {
  BROWSER_SESSION_MS,
  OIDC_FLOW_MS,
  PASSWORD_CHARS_MAX,
  PASSWORD_CHARS_MIN,
  PASSWORDS_AT_ONCE,
  PASSWORDS_WAITING_MAX,
  RATES,
  SESSIONS_PER_USER_MAX,
} from "./limits.js";
export { oauthRoutes, userCodeOf } from "./oauth.js";
export { type Identity, Oidc, type OidcSettings } from "./oidc.js";
export { Passwords, passwordProblem } from "./passwords.js";
export type { IdentityPorts } from "./ports.js";
export { type RateMaxima, type RateName, Rates } from "./rates.js";
export { cookieOf, formOf, queryOf, returnPath, setCookie } from "./requests.js";
export { auditLogin, beginSession, clientOf, hashOf, type Requester, requesterOf, requestIdOf } from "./sessions.js";
export { emailOf, subjectOf } from "./subjects.js";
