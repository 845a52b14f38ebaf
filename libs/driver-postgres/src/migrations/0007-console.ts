/** The console: when whoever sits at a browser has shown last that it is them, so that what is dangerous asks them again. */
import type { Migration } from "./index.js";

export const consoleSessions: Migration = {
  number: 7,
  name: "console",
  sql: `
    -- By password or by their provider; null for devices, and for sessions that began before this was asked.
    ALTER TABLE perdure_sessions ADD COLUMN confirmed_at_ms bigint;
  `,
};
