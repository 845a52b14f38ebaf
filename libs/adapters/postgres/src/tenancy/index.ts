/** The tables of tenancy in PostgreSQL. */
export type { AccountRecord, MemberRecord, MemberWithUser } from "./accounts.js";
export type { ApiKeyRecord } from "./api-keys.js";
export type { AuditEntry, AuditFilter, AuditRecord } from "./audit.js";
export { migrateTenancyDatabase, openTenancyDatabase, type TenancyDatabase, TenancyTables } from "./database.js";
export type { DeviceCodeRecord, DeviceStatus } from "./device-codes.js";
export type { EnvironmentRecord, NewEnvironment, SealedUpstream, StatusTransition, SuspendedFor } from "./environments.js";
export type { InvitationRecord } from "./invitations.js";
export type { SessionRecord } from "./logins.js";
export type { MailToken, MailTokenKind, WaitingMail } from "./mails.js";
export { AlreadyThere, SqlSession, type Value } from "./session.js";
export type { SigningKeyRecord } from "./signing-keys.js";
export type { TokenKeyRecord } from "./token-keys.js";
export type { TunnelRecord } from "./tunnels.js";
export type { MonthlyUse, SourceTotals, UsageDayRecord } from "./usage.js";
export type { UserRecord } from "./users.js";
