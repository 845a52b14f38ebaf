/** Usage of environments, open tunnels, live gateways, and the audit log. Times are milliseconds since 1970. */
export const usageTables = `
-- Keys that sign access tokens of users.
CREATE TABLE perdure_token_keys (
  kid text PRIMARY KEY,
  public_key text NOT NULL,
  -- PKCS#8 PEM sealed with the key-encryption key.
  private_key bytea NOT NULL,
  created_at_ms bigint NOT NULL,
  signs_from_ms bigint NOT NULL
);

-- The highest totals that each source reported; only what exceeds them counts.
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

-- Connections that relays reported as open; they need not survive a crash.
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

-- No statement changes or removes a line.
CREATE FUNCTION perdure_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only';
END
$$;
CREATE TRIGGER perdure_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON perdure_audit
  FOR EACH STATEMENT EXECUTE FUNCTION perdure_audit_refuse();

-- Last reports of gateways; they need not survive a crash.
CREATE UNLOGGED TABLE perdure_gateways (
  gateway text PRIMARY KEY,
  region text NOT NULL,
  demands json NOT NULL,
  seen_at_ms bigint NOT NULL
);
`;
