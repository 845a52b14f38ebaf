/** Creates and checks keys of environments and access tokens of users, and seals stored secrets with a ring of keys. */
export { type AccessTokens, openAccessTokens } from "./access-tokens.js";
export { createEnvironmentKeys, type EnvironmentKeys } from "./environment-keys.js";
export { KeyRing } from "./key-ring.js";
export type { CredentialPorts } from "./ports.js";
export { renewSeals, SealRenewal } from "./renewal.js";
