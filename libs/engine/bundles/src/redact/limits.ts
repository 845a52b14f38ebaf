/** Bounds of the redaction. */

/** Secrets of one invocation that are searched for, some MB in memory; further ones are only replaced where their field names them. */
export const SECRETS_MAX = 20_000;
