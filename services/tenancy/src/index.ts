/** Accounts, environments, keys, plans, usage and the audit log: the Cloud API, and the API for gateways and relays. */
export { type AddressSettings, createAddresses, type EnvironmentAddresses } from "./addresses.js";
export { createCloudApi } from "./api/cloud-api.js";
export { apiErrorOf, errorBody, TenancyApiError } from "./api/errors.js";
export { Quotas } from "./environments/quotas.js";
export { createReconciler, type ReconcilerOptions, type ReconcilerPorts } from "./environments/reconciler.js";
export { type ReadUsage, type RuntimeUsage, readUsageOverHttp, UsagePoller } from "./environments/usage-poller.js";
export { logMailer, type Mail, type Mailer, type SmtpSettings, smtpMailer } from "./mail/mailer.js";
export { MailOutbox } from "./mail/outbox.js";
export type { TenancyOptions, TenancyPorts } from "./ports.js";
export { createEnvironmentKeys, type EnvironmentKeys } from "./secrets/environment-keys.js";
export { KeyRing } from "./secrets/key-ring.js";
export { createTenancy } from "./tenancy.js";
export { type AccessTokens, type IssuedToken, openAccessTokens, type TokenFacts } from "./tokens/access-tokens.js";
