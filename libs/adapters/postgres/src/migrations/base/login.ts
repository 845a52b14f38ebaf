/** Login: passwords, identities at providers, sessions, codes of devices, and counters of tries. Secrets only as hashes. */
export const loginTables = `
CREATE TABLE perdure_passwords (
  user_id text PRIMARY KEY REFERENCES perdure_users,
  -- Argon2 in PHC form, with its parameters and salt.
  hash text NOT NULL,
  changed_at_ms bigint NOT NULL
);

-- Identities of users at OpenID Connect providers.
CREATE TABLE perdure_identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  user_id text NOT NULL REFERENCES perdure_users,
  created_at_ms bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX perdure_identities_by_user ON perdure_identities (user_id);

-- A browser or a device where a user is logged in; the sid of access tokens.
CREATE TABLE perdure_sessions (
  id text PRIMARY KEY,
  user_id text NOT NULL REFERENCES perdure_users,
  -- browser, device
  kind text NOT NULL,
  label text NOT NULL,
  remote_address text,
  -- SHA-256 of the cookie; null for devices.
  cookie_hash bytea UNIQUE,
  created_at_ms bigint NOT NULL,
  expires_at_ms bigint NOT NULL,
  ended_at_ms bigint,
  -- When the user proved who they are last, by password or by their provider; null for devices.
  confirmed_at_ms bigint
);
CREATE INDEX perdure_sessions_by_user ON perdure_sessions (user_id, created_at_ms);
CREATE INDEX perdure_sessions_by_expiry ON perdure_sessions (expires_at_ms);

-- Those of one session are a family: the last one is good, and using an older one again ends them all.
CREATE TABLE perdure_refresh_tokens (
  token_hash bytea PRIMARY KEY,
  session_id text NOT NULL REFERENCES perdure_sessions ON DELETE CASCADE,
  created_at_ms bigint NOT NULL,
  used_at_ms bigint
);
CREATE INDEX perdure_refresh_tokens_by_session ON perdure_refresh_tokens (session_id);

CREATE TABLE perdure_device_codes (
  device_hash bytea PRIMARY KEY,
  user_code_hash bytea NOT NULL UNIQUE,
  device_name text NOT NULL,
  remote_address text,
  -- pending, approved, denied, used
  status text NOT NULL,
  user_id text REFERENCES perdure_users,
  interval_ms int NOT NULL,
  polled_at_ms bigint,
  -- How often a user entered it.
  looks int NOT NULL DEFAULT 0,
  created_at_ms bigint NOT NULL,
  expires_at_ms bigint NOT NULL
);
CREATE INDEX perdure_device_codes_by_expiry ON perdure_device_codes (expires_at_ms);

-- Not worth keeping over a crash.
CREATE UNLOGGED TABLE perdure_attempts (
  kind text NOT NULL,
  subject text NOT NULL,
  count int NOT NULL,
  ends_at_ms bigint NOT NULL,
  PRIMARY KEY (kind, subject)
);
CREATE INDEX perdure_attempts_by_end ON perdure_attempts (ends_at_ms);
`;
