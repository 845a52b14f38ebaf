/**
 * What the database looks like, step by step. A published step is never changed: databases out there have taken it. Steps go
 * forward only, and each leaves the tables readable for the version before (new columns have defaults, nothing is renamed).
 */
import { documents } from "./0001-documents.js";
import { archive } from "./0002-archive.js";
import { tenancy } from "./0003-tenancy.js";
import { login } from "./0004-login.js";
import { gateways } from "./0005-gateways.js";
import { mail } from "./0006-mail.js";
import { consoleSessions } from "./0007-console.js";

export interface Migration {
  /** From 1, without holes. */
  readonly number: number;
  readonly name: string;
  /** Run in one transaction together with the note that it was run. */
  readonly sql: string;
}

export const migrations: readonly Migration[] = [documents, archive, tenancy, login, gateways, mail, consoleSessions];
