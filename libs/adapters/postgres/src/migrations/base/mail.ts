/** Mail: messages to be sent, links in them that work once, and notices that were sent already. */
export const mailTables = `
-- Links that were sent by mail: valid once, until they expire.
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

-- Notices that were sent about an account or environment, so that each is sent once: a quota in a month, idleness since some time.
CREATE TABLE perdure_notices (
  subject text NOT NULL,
  kind text NOT NULL,
  period text NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (subject, kind, period)
);
`;
