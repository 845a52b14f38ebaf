/** Mail: what is to be sent, links in it that work once, who has proved an address, what somebody was told already; and plans that say more. */
import type { Migration } from "./index.js";

export const mail: Migration = {
  number: 6,
  name: "mail",
  sql: `
    ALTER TABLE perdure_users ADD COLUMN email_verified_at_ms bigint;

    -- Links that were sent to somebody: good once, for a while.
    CREATE TABLE perdure_mail_tokens (
      token_hash bytea PRIMARY KEY,
      -- verify, reset
      kind text NOT NULL,
      user_id text NOT NULL REFERENCES perdure_users,
      -- Where it was sent: a link proves no other address.
      email text NOT NULL,
      created_at_ms bigint NOT NULL,
      expires_at_ms bigint NOT NULL
    );
    CREATE INDEX perdure_mail_tokens_by_user ON perdure_mail_tokens (user_id);
    CREATE INDEX perdure_mail_tokens_by_expiry ON perdure_mail_tokens (expires_at_ms);

    -- What is to be sent, and goes when it was. Links are secrets, so it is sealed with the key-encryption key.
    CREATE TABLE perdure_mails (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      sealed bytea NOT NULL,
      created_at_ms bigint NOT NULL,
      due_at_ms bigint NOT NULL,
      tries int NOT NULL DEFAULT 0
    );
    CREATE INDEX perdure_mails_by_due ON perdure_mails (due_at_ms);

    -- What an account or environment was told, so that it is told once: a quota in a month, idleness since some time.
    CREATE TABLE perdure_notices (
      subject text NOT NULL,
      kind text NOT NULL,
      period text NOT NULL,
      at_ms bigint NOT NULL,
      PRIMARY KEY (subject, kind, period)
    );

    -- Its account used up the month's traffic: doors let its bytes through slowly.
    ALTER TABLE perdure_environments ADD COLUMN throttled boolean NOT NULL DEFAULT false;

    ALTER TABLE perdure_plans ADD COLUMN members_max int NOT NULL DEFAULT 5;
    -- Whether owners may choose it themselves; an operator gives the others.
    ALTER TABLE perdure_plans ADD COLUMN self_service boolean NOT NULL DEFAULT false;
    UPDATE perdure_plans SET members_max = 100 WHERE id = 'team';
    UPDATE perdure_plans SET self_service = true WHERE id = 'free';
  `,
};
