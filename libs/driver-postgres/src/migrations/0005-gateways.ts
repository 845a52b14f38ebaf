/** Gateways tell what they are asked, so that several of them keep one rate; keys may have a rate of their own. */
import type { Migration } from "./index.js";

export const gateways: Migration = {
  number: 5,
  name: "gateways",
  sql: `
    -- What gateways said last; nothing of it is worth keeping over a crash.
    CREATE UNLOGGED TABLE perdure_gateways (
      gateway text PRIMARY KEY,
      region text NOT NULL,
      demands json NOT NULL,
      seen_at_ms bigint NOT NULL
    );
    -- Requests per second; null: as many as the environment may.
    ALTER TABLE perdure_api_keys ADD COLUMN rate_per_second int;
  `,
};
