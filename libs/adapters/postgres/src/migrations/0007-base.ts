/**
 * The database as version 0.1.0 makes it. Its number is 7 because seven steps led to these tables before the first release: a database
 * that took all seven has the same tables and needs nothing, and a process from before the release runs on one that was made by this.
 */
import { archiveTables } from "./base/archive.js";
import { documentTables } from "./base/documents.js";
import { loginTables } from "./base/login.js";
import { mailTables } from "./base/mail.js";
import { tenancyTables } from "./base/tenancy.js";
import { usageTables } from "./base/usage.js";
import type { Migration } from "./index.js";

export const base: Migration = {
  number: 7,
  name: "base",
  sql: [documentTables, archiveTables, tenancyTables, usageTables, loginTables, mailTables].join("\n"),
};
