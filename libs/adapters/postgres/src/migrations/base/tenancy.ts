/** Accounts, members, plans, environments and their keys. Times are milliseconds since 1970. */
export const tenancyTables = `
CREATE TABLE perdure_users (
  id text PRIMARY KEY,
  -- As its owner writes it; two that differ only in case are one.
  email text NOT NULL,
  name text,
  created_at_ms bigint NOT NULL,
  email_verified_at_ms bigint
);
CREATE UNIQUE INDEX perdure_users_by_email ON perdure_users (lower(email));

CREATE TABLE perdure_plans (
  id text PRIMARY KEY,
  name text NOT NULL,
  accounts_per_owner_max int NOT NULL,
  environments_per_account_max int NOT NULL,
  api_keys_max int NOT NULL,
  actions_per_month bigint NOT NULL,
  traffic_bytes_per_month bigint NOT NULL,
  idle_suspend_ms bigint,
  ingress_per_second int NOT NULL,
  ingress_burst int NOT NULL,
  admin_per_second int NOT NULL,
  admin_burst int NOT NULL,
  body_bytes_max bigint NOT NULL,
  concurrent_invocations_max int NOT NULL,
  stored_bytes_max bigint NOT NULL,
  retention_ms_max bigint NOT NULL,
  deployments_max int NOT NULL,
  services_max int NOT NULL,
  subscriptions_max int NOT NULL,
  tunnel_names_max int NOT NULL,
  tunnel_connections_max int NOT NULL,
  memory_mib_max int NOT NULL,
  plain_http_allowed boolean NOT NULL,
  members_max int NOT NULL DEFAULT 5,
  -- Whether owners may choose it themselves; an operator gives the others.
  self_service boolean NOT NULL DEFAULT false
);
INSERT INTO perdure_plans VALUES
  ('free', 'Free', 1, 2, 5, 50000, 5368709120, 1209600000, 20, 50, 5, 20, 4194304, 100, 1073741824, 86400000,
   20, 50, 0, 4, 16, 256, false, 5, true),
  ('team', 'Team', 5, 20, 50, 5000000, 536870912000, NULL, 500, 1500, 50, 200, 33554432, 5000, 53687091200, 2592000000,
   500, 2000, 20, 50, 256, 1024, false, 100, false);

CREATE TABLE perdure_accounts (
  id text PRIMARY KEY,
  name text NOT NULL,
  description text,
  plan_id text NOT NULL REFERENCES perdure_plans,
  created_at_ms bigint NOT NULL
);

CREATE TABLE perdure_members (
  account_id text NOT NULL REFERENCES perdure_accounts,
  user_id text NOT NULL REFERENCES perdure_users,
  role text NOT NULL,
  since_ms bigint NOT NULL,
  PRIMARY KEY (account_id, user_id)
);
CREATE INDEX perdure_members_by_user ON perdure_members (user_id);

CREATE TABLE perdure_invitations (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES perdure_accounts,
  email text NOT NULL,
  role text NOT NULL,
  -- SHA-256 of what the invited person was sent.
  token_hash bytea NOT NULL UNIQUE,
  invited_by text NOT NULL,
  created_at_ms bigint NOT NULL,
  expires_at_ms bigint NOT NULL,
  -- Set once: an invitation works one time.
  ended_at_ms bigint,
  accepted_by text
);
CREATE INDEX perdure_invitations_by_account ON perdure_invitations (account_id) WHERE ended_at_ms IS NULL;

CREATE TABLE perdure_environments (
  id text PRIMARY KEY,
  account_id text NOT NULL REFERENCES perdure_accounts,
  name text NOT NULL,
  region text NOT NULL,
  description text,
  status text NOT NULL,
  -- Why it is suspended, or was when it was destroyed: user, quota, idle, abuse, billing.
  suspended_for text,
  -- Rises with every change of what its runtime shall be.
  generation int NOT NULL,
  -- Failures to make the runtime, since it last worked.
  tries int NOT NULL DEFAULT 0,
  failure text,
  -- Where the runtime answers; null while none does.
  upstream_ingress text,
  upstream_admin text,
  -- Sealed with the data key.
  upstream_secret bytea,
  -- Number of its ports on a machine without host names; null elsewhere.
  slot int,
  cors_origins text[] NOT NULL,
  forwards_foreign_authorization boolean NOT NULL,
  idempotency_key text,
  -- Sealed with the key-encryption key; null when what it sealed can never be read again.
  data_key bytea,
  created_at_ms bigint NOT NULL,
  changed_at_ms bigint NOT NULL,
  last_traffic_at_ms bigint NOT NULL,
  -- When its data goes, of one that is being deleted.
  erase_at_ms bigint,
  -- Its account used up the traffic of the month: gateways and relays limit its bytes per second.
  throttled boolean NOT NULL DEFAULT false
);
-- The name of one that is being deleted is free again.
CREATE UNIQUE INDEX perdure_environments_by_name ON perdure_environments (account_id, name)
  WHERE status NOT IN ('DELETING', 'DELETED');
CREATE UNIQUE INDEX perdure_environments_by_idempotency ON perdure_environments (account_id, idempotency_key);
CREATE UNIQUE INDEX perdure_environments_by_slot ON perdure_environments (slot) WHERE status <> 'DELETED';
CREATE INDEX perdure_environments_living ON perdure_environments (id) WHERE status <> 'DELETED';

CREATE TABLE perdure_signing_keys (
  environment_id text NOT NULL REFERENCES perdure_environments,
  public_key text PRIMARY KEY,
  -- CURRENT signs, NEXT will, PREVIOUS did and is still accepted.
  state text NOT NULL,
  -- PKCS#8 PEM sealed with the environment's data key; null when erased.
  private_key bytea,
  created_at_ms bigint NOT NULL,
  promoted_at_ms bigint,
  -- When another took its place.
  replaced_at_ms bigint
);
CREATE UNIQUE INDEX perdure_signing_keys_one ON perdure_signing_keys (environment_id, state);

CREATE TABLE perdure_api_keys (
  id text PRIMARY KEY,
  environment_id text NOT NULL REFERENCES perdure_environments,
  account_id text NOT NULL,
  role text NOT NULL,
  secret_hash bytea NOT NULL,
  pepper_version int NOT NULL,
  description text,
  created_by text NOT NULL,
  created_at_ms bigint NOT NULL,
  expires_at_ms bigint,
  last_used_at_ms bigint,
  deleted_at_ms bigint,
  -- Requests per second; null: as many as the environment may.
  rate_per_second int
);
CREATE INDEX perdure_api_keys_by_environment ON perdure_api_keys (environment_id, created_at_ms) WHERE deleted_at_ms IS NULL;
`;
