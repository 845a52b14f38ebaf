--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: perdure_archive_forget(text, integer, bigint, bytea[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.perdure_archive_forget(env text, of_partition integer, with_epoch bigint, ids bytea[], retained bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
    DECLARE
      highest bigint := perdure_archive_lead(env, of_partition, with_epoch);
    BEGIN
      IF highest > with_epoch THEN
        RETURN highest;
      END IF;
      DELETE FROM perdure_archive a USING unnest(ids, retained) AS u (id, retained)
      WHERE a.environment = env AND a.id = u.id AND a.retained_until_ms = u.retained;
      RETURN NULL;
    END
    $$;


--
-- Name: perdure_archive_lead(text, integer, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.perdure_archive_lead(env text, of_partition integer, with_epoch bigint) RETURNS bigint
    LANGUAGE sql
    AS $$
      INSERT INTO perdure_archive_leaders AS l VALUES (env, of_partition, with_epoch)
      ON CONFLICT (environment, partition) DO UPDATE SET epoch = greatest(l.epoch, excluded.epoch)
      RETURNING l.epoch
    $$;


--
-- Name: perdure_archive_put(text, integer, bigint, bytea[], text[], boolean[], bigint[], bigint[], bigint[], boolean[], bytea[], bytea[], bytea[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.perdure_archive_put(env text, of_partition integer, with_epoch bigint, ids bytea[], services text[], failures boolean[], created bigint[], completed bigint[], retained bigint[], expiring boolean[], new_rows bytea[], journals bytea[], all_events bytea[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
    DECLARE
      highest bigint := perdure_archive_lead(env, of_partition, with_epoch);
    BEGIN
      IF highest > with_epoch THEN
        RETURN highest;
      END IF;
      INSERT INTO perdure_archive AS a
      SELECT env, u.id, of_partition, u.service, u.failed, u.created, u.completed, u.retained, u.expires, u.new_row, u.journal, u.events
      FROM unnest(ids, services, failures, created, completed, retained, expiring, new_rows, journals, all_events)
        AS u (id, service, failed, created, completed, retained, expires, new_row, journal, events)
      ON CONFLICT (environment, id) DO UPDATE SET
        partition = excluded.partition, service = excluded.service, is_failure = excluded.is_failure,
        created_at_ms = excluded.created_at_ms, completed_at_ms = excluded.completed_at_ms,
        retained_until_ms = excluded.retained_until_ms, expires = excluded.expires,
        row = excluded.row, journal = excluded.journal, events = excluded.events;
      RETURN NULL;
    END
    $$;


--
-- Name: perdure_audit_refuse(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.perdure_audit_refuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      RAISE EXCEPTION 'the audit log is append-only';
    END
    $$;


--
-- Name: perdure_usage_report(text, text, bigint, bigint[], bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.perdure_usage_report(env text, of_source text, at_ms bigint, new_totals bigint[], stored bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: perdure_write(text, bytea[], bigint[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.perdure_write(env text, keys bytea[], expected bigint[], new_values text[]) RETURNS TABLE(written bigint, conflict_at integer, actual bigint)
    LANGUAGE plpgsql
    AS $$
    DECLARE
      next_version bigint;
      found bigint;
    BEGIN
      INSERT INTO perdure_versions AS v VALUES (env, 0) ON CONFLICT DO NOTHING;
      SELECT v.version INTO next_version FROM perdure_versions v WHERE v.environment = env FOR UPDATE;
      FOR i IN 1 .. coalesce(array_length(keys, 1), 0) LOOP
        CONTINUE WHEN expected[i] IS NULL;
        SELECT d.version INTO found FROM perdure_documents d WHERE d.environment = env AND d.key = keys[i];
        found := coalesce(found, 0);
        IF found <> expected[i] THEN
          RETURN QUERY SELECT NULL::bigint, i, found;
          RETURN;
        END IF;
      END LOOP;
      IF coalesce(array_length(keys, 1), 0) > 0 THEN
        next_version := next_version + 1;
        UPDATE perdure_versions v SET version = next_version WHERE v.environment = env;
      END IF;
      FOR i IN 1 .. coalesce(array_length(keys, 1), 0) LOOP
        IF new_values[i] IS NULL THEN
          DELETE FROM perdure_documents d WHERE d.environment = env AND d.key = keys[i];
        ELSE
          INSERT INTO perdure_documents AS d VALUES (env, keys[i], next_version, new_values[i])
          ON CONFLICT (environment, key) DO UPDATE SET version = excluded.version, value = excluded.value;
        END IF;
      END LOOP;
      IF coalesce(array_length(keys, 1), 0) > 0 THEN
        PERFORM pg_notify('perdure_documents', env || ' ' || next_version);
      END IF;
      RETURN QUERY SELECT next_version, NULL::int, NULL::bigint;
    END
    $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: perdure_accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_accounts (
    id text NOT NULL,
    name text NOT NULL,
    description text,
    plan_id text NOT NULL,
    created_at_ms bigint NOT NULL
);


--
-- Name: perdure_api_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_api_keys (
    id text NOT NULL,
    environment_id text NOT NULL,
    account_id text NOT NULL,
    role text NOT NULL,
    secret_hash bytea NOT NULL,
    pepper_version integer NOT NULL,
    description text,
    created_by text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint,
    last_used_at_ms bigint,
    deleted_at_ms bigint,
    rate_per_second integer
);


--
-- Name: perdure_archive; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_archive (
    environment text NOT NULL,
    id bytea NOT NULL,
    partition integer NOT NULL,
    service text NOT NULL,
    is_failure boolean NOT NULL,
    created_at_ms bigint NOT NULL,
    completed_at_ms bigint NOT NULL,
    retained_until_ms bigint NOT NULL,
    expires boolean NOT NULL,
    "row" bytea NOT NULL,
    journal bytea NOT NULL,
    events bytea NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');


--
-- Name: perdure_archive_leaders; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_archive_leaders (
    environment text NOT NULL,
    partition integer NOT NULL,
    epoch bigint NOT NULL
);


--
-- Name: perdure_attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.perdure_attempts (
    kind text NOT NULL,
    subject text NOT NULL,
    count integer NOT NULL,
    ends_at_ms bigint NOT NULL
);


--
-- Name: perdure_audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_audit (
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    account_id text,
    environment_id text,
    actor_kind text NOT NULL,
    actor_id text NOT NULL,
    action text NOT NULL,
    target text,
    details text NOT NULL,
    request_id text,
    remote_address text
);


--
-- Name: perdure_audit_number_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.perdure_audit ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.perdure_audit_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: perdure_device_codes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_device_codes (
    device_hash bytea NOT NULL,
    user_code_hash bytea NOT NULL,
    device_name text NOT NULL,
    remote_address text,
    status text NOT NULL,
    user_id text,
    interval_ms integer NOT NULL,
    polled_at_ms bigint,
    looks integer DEFAULT 0 NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL
);


--
-- Name: perdure_documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_documents (
    environment text NOT NULL,
    key bytea NOT NULL,
    version bigint NOT NULL,
    value text NOT NULL
);


--
-- Name: perdure_environments; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_environments (
    id text NOT NULL,
    account_id text NOT NULL,
    name text NOT NULL,
    region text NOT NULL,
    description text,
    status text NOT NULL,
    suspended_for text,
    generation integer NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    failure text,
    upstream_ingress text,
    upstream_admin text,
    upstream_secret bytea,
    slot integer,
    cors_origins text[] NOT NULL,
    forwards_foreign_authorization boolean NOT NULL,
    idempotency_key text,
    data_key bytea,
    created_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    last_traffic_at_ms bigint NOT NULL,
    erase_at_ms bigint,
    throttled boolean DEFAULT false NOT NULL
);


--
-- Name: perdure_gateways; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.perdure_gateways (
    gateway text NOT NULL,
    region text NOT NULL,
    demands json NOT NULL,
    seen_at_ms bigint NOT NULL
);


--
-- Name: perdure_identities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL,
    created_at_ms bigint NOT NULL
);


--
-- Name: perdure_invitations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_invitations (
    id text NOT NULL,
    account_id text NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    token_hash bytea NOT NULL,
    invited_by text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    ended_at_ms bigint,
    accepted_by text
);


--
-- Name: perdure_mail_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_mail_tokens (
    token_hash bytea NOT NULL,
    kind text NOT NULL,
    user_id text NOT NULL,
    email text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL
);


--
-- Name: perdure_mails; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_mails (
    id bigint NOT NULL,
    sealed bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    due_at_ms bigint NOT NULL,
    tries integer DEFAULT 0 NOT NULL
);


--
-- Name: perdure_mails_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.perdure_mails ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.perdure_mails_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: perdure_members; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_members (
    account_id text NOT NULL,
    user_id text NOT NULL,
    role text NOT NULL,
    since_ms bigint NOT NULL
);


--
-- Name: perdure_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_migrations (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: perdure_notices; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_notices (
    subject text NOT NULL,
    kind text NOT NULL,
    period text NOT NULL,
    at_ms bigint NOT NULL
);


--
-- Name: perdure_passwords; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_passwords (
    user_id text NOT NULL,
    hash text NOT NULL,
    changed_at_ms bigint NOT NULL
);


--
-- Name: perdure_plans; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_plans (
    id text NOT NULL,
    name text NOT NULL,
    accounts_per_owner_max integer NOT NULL,
    environments_per_account_max integer NOT NULL,
    api_keys_max integer NOT NULL,
    actions_per_month bigint NOT NULL,
    traffic_bytes_per_month bigint NOT NULL,
    idle_suspend_ms bigint,
    ingress_per_second integer NOT NULL,
    ingress_burst integer NOT NULL,
    admin_per_second integer NOT NULL,
    admin_burst integer NOT NULL,
    body_bytes_max bigint NOT NULL,
    concurrent_invocations_max integer NOT NULL,
    stored_bytes_max bigint NOT NULL,
    retention_ms_max bigint NOT NULL,
    deployments_max integer NOT NULL,
    services_max integer NOT NULL,
    subscriptions_max integer NOT NULL,
    tunnel_names_max integer NOT NULL,
    tunnel_connections_max integer NOT NULL,
    memory_mib_max integer NOT NULL,
    plain_http_allowed boolean NOT NULL,
    members_max integer DEFAULT 5 NOT NULL,
    self_service boolean DEFAULT false NOT NULL
);


--
-- Name: perdure_refresh_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_refresh_tokens (
    token_hash bytea NOT NULL,
    session_id text NOT NULL,
    created_at_ms bigint NOT NULL,
    used_at_ms bigint
);


--
-- Name: perdure_sessions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_sessions (
    id text NOT NULL,
    user_id text NOT NULL,
    kind text NOT NULL,
    label text NOT NULL,
    remote_address text,
    cookie_hash bytea,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    ended_at_ms bigint,
    confirmed_at_ms bigint
);


--
-- Name: perdure_signing_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_signing_keys (
    environment_id text NOT NULL,
    public_key text NOT NULL,
    state text NOT NULL,
    private_key bytea,
    created_at_ms bigint NOT NULL,
    promoted_at_ms bigint,
    replaced_at_ms bigint
);


--
-- Name: perdure_token_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_token_keys (
    kid text NOT NULL,
    public_key text NOT NULL,
    private_key bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    signs_from_ms bigint NOT NULL
);


--
-- Name: perdure_tunnels; Type: TABLE; Schema: public; Owner: -
--

CREATE UNLOGGED TABLE public.perdure_tunnels (
    relay text NOT NULL,
    id text NOT NULL,
    environment_id text NOT NULL,
    name text NOT NULL,
    client_version text,
    worker_id text,
    connected_at_ms bigint NOT NULL,
    in_flight integer NOT NULL,
    seen_at_ms bigint NOT NULL
);


--
-- Name: perdure_usage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_usage (
    environment_id text NOT NULL,
    day date NOT NULL,
    actions bigint DEFAULT 0 NOT NULL,
    ingress_requests bigint DEFAULT 0 NOT NULL,
    admin_requests bigint DEFAULT 0 NOT NULL,
    bytes_in bigint DEFAULT 0 NOT NULL,
    bytes_out bigint DEFAULT 0 NOT NULL,
    tunnel_bytes bigint DEFAULT 0 NOT NULL,
    stored_bytes bigint DEFAULT 0 NOT NULL,
    stored_bytes_peak bigint DEFAULT 0 NOT NULL
);


--
-- Name: perdure_usage_sources; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_usage_sources (
    environment_id text NOT NULL,
    source text NOT NULL,
    totals bigint[] NOT NULL,
    seen_at_ms bigint NOT NULL
);


--
-- Name: perdure_users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_users (
    id text NOT NULL,
    email text NOT NULL,
    name text,
    created_at_ms bigint NOT NULL,
    email_verified_at_ms bigint
);


--
-- Name: perdure_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_versions (
    environment text NOT NULL,
    version bigint NOT NULL
);


--
-- Data for Name: perdure_accounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_accounts VALUES ('acc_0123456789ABCDEFGHIJKLM', 'Acme', NULL, 'team', 1763700000000);


--
-- Data for Name: perdure_api_keys; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_api_keys VALUES ('key_00000000000000000000001', 'env_201kaj2h3j4k5m6n7p8q9r0s1t2', 'acc_0123456789ABCDEFGHIJKLM', 'rst:role::FullAccess', '\x01', 1, NULL, 'user_01kaj2h3j4k5m6n7p8q9r0s1t2', 1763700000000, NULL, NULL, NULL, NULL);


--
-- Data for Name: perdure_archive; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_archive VALUES ('env_1', '\x000000000000000000000000000000000000000000000001', 0, 'S', false, 1000, 1000, 61000, true, '\x050a410a26696e765f3130303030303030303030303031535a777669597a6573326d6a4f616d754d4a5777120a0a01531a016820002801400048e80758e0d40360e0d40310e8071801300038014000480070e8079201030a0101', '\x', '\x');


--
-- Data for Name: perdure_archive_leaders; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_archive_leaders VALUES ('env_1', 0, 3);


--
-- Data for Name: perdure_attempts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_audit; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_audit OVERRIDING SYSTEM VALUE VALUES (1, 1763700000000, 'acc_0123456789ABCDEFGHIJKLM', NULL, 'user', 'user_01kaj2h3j4k5m6n7p8q9r0s1t2', 'account.create', NULL, '{"name":"Acme"}', NULL, NULL);


--
-- Data for Name: perdure_device_codes; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_documents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_documents VALUES ('env_1', '\x6465706c6f796d656e74732f64705f3135436852315044775a743232526e326c665a72526f35', 1, '{"uri":"http://greeter:9080/","createdAtMs":1763700000000}');
INSERT INTO public.perdure_documents VALUES ('env_1', '\x73657276696365732f47726565746572', 2, '{"revision":2,"public":true,"note":"it''s ünicode ☃ \\ ''"}');
INSERT INTO public.perdure_documents VALUES ('env_2', '\x73657276696365732f47726565746572', 1, '{"revision":7}');


--
-- Data for Name: perdure_environments; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_environments VALUES ('env_201kaj2h3j4k5m6n7p8q9r0s1t2', 'acc_0123456789ABCDEFGHIJKLM', 'dev', 'us', NULL, 'ACTIVE', NULL, 3, 0, NULL, NULL, NULL, NULL, NULL, '{*}', false, NULL, NULL, 1763700000000, 1763700000000, 1763700000000, NULL, false);


--
-- Data for Name: perdure_gateways; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_identities; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_invitations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_mail_tokens; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_mails; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_members; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_members VALUES ('acc_0123456789ABCDEFGHIJKLM', 'user_01kaj2h3j4k5m6n7p8q9r0s1t2', 'owner', 1763700000000);


--
-- Data for Name: perdure_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_migrations VALUES (1, 'documents', '2026-11-21 12:57:16.879455+00');
INSERT INTO public.perdure_migrations VALUES (2, 'archive', '2026-11-25 21:24:27.185725+00');
INSERT INTO public.perdure_migrations VALUES (3, 'tenancy', '2026-11-25 21:24:27.225133+00');
INSERT INTO public.perdure_migrations VALUES (4, 'login', '2026-11-25 21:24:27.355249+00');
INSERT INTO public.perdure_migrations VALUES (5, 'gateways', '2026-11-25 21:24:27.416196+00');
INSERT INTO public.perdure_migrations VALUES (6, 'mail', '2026-11-25 21:24:27.44349+00');
INSERT INTO public.perdure_migrations VALUES (7, 'console', '2026-11-25 21:24:27.470244+00');


--
-- Data for Name: perdure_notices; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_passwords; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_passwords VALUES ('user_01kaj2h3j4k5m6n7p8q9r0s1t2', '$argon2id$…', 1763700000000);


--
-- Data for Name: perdure_plans; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_plans VALUES ('team', 'Team', 5, 20, 50, 5000000, 536870912000, NULL, 500, 1500, 50, 200, 33554432, 5000, 53687091200, 2592000000, 500, 2000, 20, 50, 256, 1024, false, 100, false);
INSERT INTO public.perdure_plans VALUES ('free', 'Free', 1, 2, 5, 50000, 5368709120, 1209600000, 20, 50, 5, 20, 4194304, 100, 1073741824, 86400000, 20, 50, 0, 4, 16, 256, false, 5, true);
INSERT INTO public.perdure_plans VALUES ('own', 'Our own', 5, 20, 50, 5000000, 536870912000, NULL, 500, 1500, 50, 200, 33554432, 5000, 53687091200, 2592000000, 500, 2000, 20, 50, 256, 1024, false, 5, false);


--
-- Data for Name: perdure_refresh_tokens; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_sessions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_sessions VALUES ('session_0123456789ABCDEFGHIJKL', 'user_01kaj2h3j4k5m6n7p8q9r0s1t2', 'browser', 'Firefox', '192.0.2.1', '\xd7e83e28a04b537e64424546b14caf9b67bad2f28dabce68116e0d372319fa00', 1763700000000, 4102444800000, NULL, NULL);
INSERT INTO public.perdure_sessions VALUES ('session_1123456789ABCDEFGHIJKL', 'user_01kaj2h3j4k5m6n7p8q9r0s1t2', 'device', 'laptop', '192.0.2.1', NULL, 1763700000000, 4102444800000, NULL, NULL);


--
-- Data for Name: perdure_signing_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_token_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_tunnels; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_usage; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_usage_sources; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: perdure_users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_users VALUES ('user_01kaj2h3j4k5m6n7p8q9r0s1t2', 'ada@example.test', 'Ada', 1763700000000, NULL);


--
-- Data for Name: perdure_versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_versions VALUES ('env_1', 4);
INSERT INTO public.perdure_versions VALUES ('env_2', 1);


--
-- Name: perdure_audit_number_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.perdure_audit_number_seq', 10, true);


--
-- Name: perdure_mails_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.perdure_mails_id_seq', 1, false);


--
-- Name: perdure_accounts perdure_accounts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_accounts
    ADD CONSTRAINT perdure_accounts_pkey PRIMARY KEY (id);


--
-- Name: perdure_api_keys perdure_api_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_api_keys
    ADD CONSTRAINT perdure_api_keys_pkey PRIMARY KEY (id);


--
-- Name: perdure_archive_leaders perdure_archive_leaders_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_archive_leaders
    ADD CONSTRAINT perdure_archive_leaders_pkey PRIMARY KEY (environment, partition);


--
-- Name: perdure_archive perdure_archive_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_archive
    ADD CONSTRAINT perdure_archive_pkey PRIMARY KEY (environment, id);


--
-- Name: perdure_attempts perdure_attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_attempts
    ADD CONSTRAINT perdure_attempts_pkey PRIMARY KEY (kind, subject);


--
-- Name: perdure_audit perdure_audit_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_audit
    ADD CONSTRAINT perdure_audit_pkey PRIMARY KEY (number);


--
-- Name: perdure_device_codes perdure_device_codes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_device_codes
    ADD CONSTRAINT perdure_device_codes_pkey PRIMARY KEY (device_hash);


--
-- Name: perdure_device_codes perdure_device_codes_user_code_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_device_codes
    ADD CONSTRAINT perdure_device_codes_user_code_hash_key UNIQUE (user_code_hash);


--
-- Name: perdure_documents perdure_documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_documents
    ADD CONSTRAINT perdure_documents_pkey PRIMARY KEY (environment, key);


--
-- Name: perdure_environments perdure_environments_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_environments
    ADD CONSTRAINT perdure_environments_pkey PRIMARY KEY (id);


--
-- Name: perdure_gateways perdure_gateways_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_gateways
    ADD CONSTRAINT perdure_gateways_pkey PRIMARY KEY (gateway);


--
-- Name: perdure_identities perdure_identities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_identities
    ADD CONSTRAINT perdure_identities_pkey PRIMARY KEY (issuer, subject);


--
-- Name: perdure_invitations perdure_invitations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_invitations
    ADD CONSTRAINT perdure_invitations_pkey PRIMARY KEY (id);


--
-- Name: perdure_invitations perdure_invitations_token_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_invitations
    ADD CONSTRAINT perdure_invitations_token_hash_key UNIQUE (token_hash);


--
-- Name: perdure_mail_tokens perdure_mail_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_mail_tokens
    ADD CONSTRAINT perdure_mail_tokens_pkey PRIMARY KEY (token_hash);


--
-- Name: perdure_mails perdure_mails_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_mails
    ADD CONSTRAINT perdure_mails_pkey PRIMARY KEY (id);


--
-- Name: perdure_members perdure_members_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_members
    ADD CONSTRAINT perdure_members_pkey PRIMARY KEY (account_id, user_id);


--
-- Name: perdure_migrations perdure_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_migrations
    ADD CONSTRAINT perdure_migrations_pkey PRIMARY KEY (number);


--
-- Name: perdure_notices perdure_notices_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_notices
    ADD CONSTRAINT perdure_notices_pkey PRIMARY KEY (subject, kind, period);


--
-- Name: perdure_passwords perdure_passwords_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_passwords
    ADD CONSTRAINT perdure_passwords_pkey PRIMARY KEY (user_id);


--
-- Name: perdure_plans perdure_plans_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_plans
    ADD CONSTRAINT perdure_plans_pkey PRIMARY KEY (id);


--
-- Name: perdure_refresh_tokens perdure_refresh_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_refresh_tokens
    ADD CONSTRAINT perdure_refresh_tokens_pkey PRIMARY KEY (token_hash);


--
-- Name: perdure_sessions perdure_sessions_cookie_hash_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_sessions
    ADD CONSTRAINT perdure_sessions_cookie_hash_key UNIQUE (cookie_hash);


--
-- Name: perdure_sessions perdure_sessions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_sessions
    ADD CONSTRAINT perdure_sessions_pkey PRIMARY KEY (id);


--
-- Name: perdure_signing_keys perdure_signing_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_signing_keys
    ADD CONSTRAINT perdure_signing_keys_pkey PRIMARY KEY (public_key);


--
-- Name: perdure_token_keys perdure_token_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_token_keys
    ADD CONSTRAINT perdure_token_keys_pkey PRIMARY KEY (kid);


--
-- Name: perdure_tunnels perdure_tunnels_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_tunnels
    ADD CONSTRAINT perdure_tunnels_pkey PRIMARY KEY (relay, id);


--
-- Name: perdure_usage perdure_usage_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_usage
    ADD CONSTRAINT perdure_usage_pkey PRIMARY KEY (environment_id, day);


--
-- Name: perdure_usage_sources perdure_usage_sources_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_usage_sources
    ADD CONSTRAINT perdure_usage_sources_pkey PRIMARY KEY (environment_id, source);


--
-- Name: perdure_users perdure_users_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_users
    ADD CONSTRAINT perdure_users_pkey PRIMARY KEY (id);


--
-- Name: perdure_versions perdure_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_versions
    ADD CONSTRAINT perdure_versions_pkey PRIMARY KEY (environment);


--
-- Name: perdure_api_keys_by_environment; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_api_keys_by_environment ON public.perdure_api_keys USING btree (environment_id, created_at_ms) WHERE (deleted_at_ms IS NULL);


--
-- Name: perdure_archive_by_creation; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_archive_by_creation ON public.perdure_archive USING btree (environment, created_at_ms, id);


--
-- Name: perdure_archive_by_end; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_archive_by_end ON public.perdure_archive USING btree (environment, retained_until_ms) WHERE expires;


--
-- Name: perdure_archive_by_partition; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_archive_by_partition ON public.perdure_archive USING btree (environment, partition, created_at_ms, id);


--
-- Name: perdure_archive_by_service; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_archive_by_service ON public.perdure_archive USING btree (environment, service, created_at_ms, id);


--
-- Name: perdure_attempts_by_end; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_attempts_by_end ON public.perdure_attempts USING btree (ends_at_ms);


--
-- Name: perdure_audit_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_audit_by_account ON public.perdure_audit USING btree (account_id, number);


--
-- Name: perdure_device_codes_by_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_device_codes_by_expiry ON public.perdure_device_codes USING btree (expires_at_ms);


--
-- Name: perdure_environments_by_idempotency; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX perdure_environments_by_idempotency ON public.perdure_environments USING btree (account_id, idempotency_key);


--
-- Name: perdure_environments_by_name; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX perdure_environments_by_name ON public.perdure_environments USING btree (account_id, name) WHERE (status <> ALL (ARRAY['DELETING'::text, 'DELETED'::text]));


--
-- Name: perdure_environments_by_slot; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX perdure_environments_by_slot ON public.perdure_environments USING btree (slot) WHERE (status <> 'DELETED'::text);


--
-- Name: perdure_environments_living; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_environments_living ON public.perdure_environments USING btree (id) WHERE (status <> 'DELETED'::text);


--
-- Name: perdure_identities_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_identities_by_user ON public.perdure_identities USING btree (user_id);


--
-- Name: perdure_invitations_by_account; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_invitations_by_account ON public.perdure_invitations USING btree (account_id) WHERE (ended_at_ms IS NULL);


--
-- Name: perdure_mail_tokens_by_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_mail_tokens_by_expiry ON public.perdure_mail_tokens USING btree (expires_at_ms);


--
-- Name: perdure_mail_tokens_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_mail_tokens_by_user ON public.perdure_mail_tokens USING btree (user_id);


--
-- Name: perdure_mails_by_due; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_mails_by_due ON public.perdure_mails USING btree (due_at_ms);


--
-- Name: perdure_members_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_members_by_user ON public.perdure_members USING btree (user_id);


--
-- Name: perdure_refresh_tokens_by_session; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_refresh_tokens_by_session ON public.perdure_refresh_tokens USING btree (session_id);


--
-- Name: perdure_sessions_by_expiry; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_sessions_by_expiry ON public.perdure_sessions USING btree (expires_at_ms);


--
-- Name: perdure_sessions_by_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_sessions_by_user ON public.perdure_sessions USING btree (user_id, created_at_ms);


--
-- Name: perdure_signing_keys_one; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX perdure_signing_keys_one ON public.perdure_signing_keys USING btree (environment_id, state);


--
-- Name: perdure_tunnels_by_environment; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_tunnels_by_environment ON public.perdure_tunnels USING btree (environment_id);


--
-- Name: perdure_usage_sources_by_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX perdure_usage_sources_by_time ON public.perdure_usage_sources USING btree (seen_at_ms);


--
-- Name: perdure_users_by_email; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX perdure_users_by_email ON public.perdure_users USING btree (lower(email));


--
-- Name: perdure_audit perdure_audit_append_only; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER perdure_audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON public.perdure_audit FOR EACH STATEMENT EXECUTE FUNCTION public.perdure_audit_refuse();


--
-- Name: perdure_accounts perdure_accounts_plan_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_accounts
    ADD CONSTRAINT perdure_accounts_plan_id_fkey FOREIGN KEY (plan_id) REFERENCES public.perdure_plans(id);


--
-- Name: perdure_api_keys perdure_api_keys_environment_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_api_keys
    ADD CONSTRAINT perdure_api_keys_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.perdure_environments(id);


--
-- Name: perdure_device_codes perdure_device_codes_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_device_codes
    ADD CONSTRAINT perdure_device_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.perdure_users(id);


--
-- Name: perdure_environments perdure_environments_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_environments
    ADD CONSTRAINT perdure_environments_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.perdure_accounts(id);


--
-- Name: perdure_identities perdure_identities_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_identities
    ADD CONSTRAINT perdure_identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.perdure_users(id);


--
-- Name: perdure_invitations perdure_invitations_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_invitations
    ADD CONSTRAINT perdure_invitations_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.perdure_accounts(id);


--
-- Name: perdure_mail_tokens perdure_mail_tokens_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_mail_tokens
    ADD CONSTRAINT perdure_mail_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.perdure_users(id);


--
-- Name: perdure_members perdure_members_account_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_members
    ADD CONSTRAINT perdure_members_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.perdure_accounts(id);


--
-- Name: perdure_members perdure_members_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_members
    ADD CONSTRAINT perdure_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.perdure_users(id);


--
-- Name: perdure_passwords perdure_passwords_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_passwords
    ADD CONSTRAINT perdure_passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.perdure_users(id);


--
-- Name: perdure_refresh_tokens perdure_refresh_tokens_session_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_refresh_tokens
    ADD CONSTRAINT perdure_refresh_tokens_session_id_fkey FOREIGN KEY (session_id) REFERENCES public.perdure_sessions(id) ON DELETE CASCADE;


--
-- Name: perdure_sessions perdure_sessions_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_sessions
    ADD CONSTRAINT perdure_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.perdure_users(id);


--
-- Name: perdure_signing_keys perdure_signing_keys_environment_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_signing_keys
    ADD CONSTRAINT perdure_signing_keys_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.perdure_environments(id);


--
-- Name: perdure_usage perdure_usage_environment_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_usage
    ADD CONSTRAINT perdure_usage_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.perdure_environments(id);


--
-- Name: perdure_usage_sources perdure_usage_sources_environment_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_usage_sources
    ADD CONSTRAINT perdure_usage_sources_environment_id_fkey FOREIGN KEY (environment_id) REFERENCES public.perdure_environments(id);


--
-- PostgreSQL database dump complete
--


