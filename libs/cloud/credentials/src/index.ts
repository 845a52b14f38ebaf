/** Keys of environments, access tokens of users, and the ring of keys that seals stored secrets. */
export { type AccessTokens, openAccessTokens } from "./access-tokens.js";
export { createEnvironmentKeys, type EnvironmentKeys } from "./environment-keys.js";
export { KeyRing } from "./key-ring.js";
export type { CredentialPorts } from "./ports.js";
export { renewSeals, SealRenewal } from "./renewal.js";
