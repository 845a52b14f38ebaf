/** Tenancy: accounts, members, environments, keys, plans, usage, and the book of who did what. Times are milliseconds since 1970. */
import type { Migration } from "./index.js";

export const tenancy: Migration = {
  number: 3,
  name: "tenancy",
  sql: `
    CREATE TABLE perdure_users (
      id text PRIMARY KEY,
      -- As its owner writes it; two that differ only in case are one.
      email text NOT NULL,
      name text,
      created_at_ms bigint NOT NULL
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
      plain_http_allowed boolean NOT NULL
    );
    INSERT INTO perdure_plans VALUES
      ('free', 'Free', 1, 2, 5, 50000, 5368709120, 1209600000, 20, 50, 5, 20, 4194304, 100, 1073741824, 86400000,
       20, 50, 0, 4, 16, 256, false),
      ('team', 'Team', 5, 20, 50, 5000000, 536870912000, NULL, 500, 1500, 50, 200, 33554432, 5000, 53687091200, 2592000000,
       500, 2000, 20, 50, 256, 1024, false);

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
      erase_at_ms bigint
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
      deleted_at_ms bigint
    );
    CREATE INDEX perdure_api_keys_by_environment ON perdure_api_keys (environment_id, created_at_ms) WHERE deleted_at_ms IS NULL;

    -- Keys that sign access tokens of users.
    CREATE TABLE perdure_token_keys (
      kid text PRIMARY KEY,
      public_key text NOT NULL,
      -- PKCS#8 PEM sealed with the key-encryption key.
      private_key bytea NOT NULL,
      created_at_ms bigint NOT NULL,
      signs_from_ms bigint NOT NULL
    );

    -- The highest totals that each source told; only what exceeds them counts.
    CREATE TABLE perdure_usage_sources (
      environment_id text NOT NULL REFERENCES perdure_environments,
      source text NOT NULL,
      totals bigint[] NOT NULL,
      seen_at_ms bigint NOT NULL,
      PRIMARY KEY (environment_id, source)
    );
    CREATE INDEX perdure_usage_sources_by_time ON perdure_usage_sources (seen_at_ms);

    CREATE TABLE perdure_usage (
      environment_id text NOT NULL REFERENCES perdure_environments,
      day date NOT NULL,
      actions bigint NOT NULL DEFAULT 0,
      ingress_requests bigint NOT NULL DEFAULT 0,
      admin_requests bigint NOT NULL DEFAULT 0,
      bytes_in bigint NOT NULL DEFAULT 0,
      bytes_out bigint NOT NULL DEFAULT 0,
      tunnel_bytes bigint NOT NULL DEFAULT 0,
      -- What was stored at the end of the day, and at most.
      stored_bytes bigint NOT NULL DEFAULT 0,
      stored_bytes_peak bigint NOT NULL DEFAULT 0,
      PRIMARY KEY (environment_id, day)
    );

    -- totals: actions, ingress requests, admin requests, bytes in, bytes out, tunnel bytes. Answers whether anything was new. Reports
    -- of one source take turns; an older one that comes late finds that everything in it is counted.
    CREATE FUNCTION perdure_usage_report(env text, of_source text, at_ms bigint, new_totals bigint[], stored bigint)
    RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
      known bigint[];
      more bigint[];
      of_day date := (to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC')::date;
    BEGIN
      INSERT INTO perdure_usage_sources AS s VALUES (env, of_source, '{0,0,0,0,0,0}', at_ms) ON CONFLICT DO NOTHING;
      SELECT s.totals INTO known FROM perdure_usage_sources s WHERE s.environment_id = env AND s.source = of_source FOR UPDATE;
      more := ARRAY(SELECT greatest(0, new_totals[i] - known[i]) FROM generate_series(1, 6) AS i ORDER BY i);
      UPDATE perdure_usage_sources s
      SET totals = ARRAY(SELECT known[i] + more[i] FROM generate_series(1, 6) AS i ORDER BY i), seen_at_ms = greatest(s.seen_at_ms, at_ms)
      WHERE s.environment_id = env AND s.source = of_source;
      IF stored IS NULL AND more = '{0,0,0,0,0,0}' THEN
        RETURN false;
      END IF;
      INSERT INTO perdure_usage AS u
      VALUES (env, of_day, more[1], more[2], more[3], more[4], more[5], more[6], coalesce(stored, 0), coalesce(stored, 0))
      ON CONFLICT (environment_id, day) DO UPDATE SET
        actions = u.actions + more[1], ingress_requests = u.ingress_requests + more[2], admin_requests = u.admin_requests + more[3],
        bytes_in = u.bytes_in + more[4], bytes_out = u.bytes_out + more[5], tunnel_bytes = u.tunnel_bytes + more[6],
        stored_bytes = coalesce(stored, u.stored_bytes), stored_bytes_peak = greatest(u.stored_bytes_peak, stored);
      IF more <> '{0,0,0,0,0,0}' THEN
        UPDATE perdure_environments SET last_traffic_at_ms = greatest(last_traffic_at_ms, at_ms) WHERE id = env;
        RETURN true;
      END IF;
      RETURN false;
    END
    $$;

    -- What relays say is open now; nothing of it is worth keeping over a crash.
    CREATE UNLOGGED TABLE perdure_tunnels (
      relay text NOT NULL,
      id text NOT NULL,
      environment_id text NOT NULL,
      name text NOT NULL,
      client_version text,
      worker_id text,
      connected_at_ms bigint NOT NULL,
      in_flight int NOT NULL,
      seen_at_ms bigint NOT NULL,
      PRIMARY KEY (relay, id)
    );
    CREATE INDEX perdure_tunnels_by_environment ON perdure_tunnels (environment_id);

    CREATE TABLE perdure_audit (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at_ms bigint NOT NULL,
      account_id text,
      environment_id text,
      -- user, system
      actor_kind text NOT NULL,
      actor_id text NOT NULL,
      -- account.create, environment.suspend …
      action text NOT NULL,
      target text,
      details text NOT NULL,
      request_id text,
      remote_address text
    );
    CREATE INDEX perdure_audit_by_account ON perdure_audit (account_id, number);

    -- What happened, happened: nobody changes or removes a line, by whatever statement.
    CREATE FUNCTION perdure_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'the audit log is append-only';
    END
    $$;
    CREATE TRIGGER perdure_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON perdure_audit
      FOR EACH STATEMENT EXECUTE FUNCTION perdure_audit_refuse();
  `,
};
