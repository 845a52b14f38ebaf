/**
 * The schema of the database, step by step. A published step is never changed, because databases exist that have applied it. Steps go
 * forward only, and each leaves the tables readable for the version before (new columns have defaults, nothing is renamed).
 */
import { base } from "./0007-base.js";

export interface Migration {
  /** Each one more than the one before; the first is 7. */
  readonly number: number;
  readonly name: string;
  /** Run in one transaction together with the note that it was run. */
  readonly sql: string;
}

export const migrations: readonly Migration[] = [base];
