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
-- Name: public; Type: SCHEMA; Schema: -; Owner: -
--

-- *not* creating schema, since initdb creates it


--
-- Name: SCHEMA public; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON SCHEMA public IS '';


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
-- Name: perdure_documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_documents (
    environment text NOT NULL,
    key bytea NOT NULL,
    version bigint NOT NULL,
    value text NOT NULL
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
-- Name: perdure_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.perdure_versions (
    environment text NOT NULL,
    version bigint NOT NULL
);


--
-- Data for Name: perdure_archive; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_archive VALUES ('env_1', '\x000000000000000000000000000000000000000000000001', 0, 'S', false, 1000, 1000, 61000, true, '\x050a410a26696e765f3130303030303030303030303031535a777669597a6573326d6a4f616d754d4a5777120a0a01531a016820002801400048e80758e0d40360e0d40310e8071801300038014000480070e8079201030a0101', '\x', '\x');


--
-- Data for Name: perdure_archive_leaders; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_archive_leaders VALUES ('env_1', 0, 3);


--
-- Data for Name: perdure_documents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_documents VALUES ('env_1', '\x72656769737472792f6465706c6f796d656e742f64705f3135436852315044775a743232526e326c665a72526f35', 1, '{"id":"dp_15ChR1PDwZt22Rn2lfZrRo5"}');
INSERT INTO public.perdure_documents VALUES ('env_1', '\x7363686564756c65732f6e616d652f6f6674656e', 2, '"sch_1"');


--
-- Data for Name: perdure_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_migrations VALUES (1, 'documents', '2026-11-21 15:27:52.861901+00');
INSERT INTO public.perdure_migrations VALUES (2, 'archive', '2026-11-21 15:27:52.918085+00');


--
-- Data for Name: perdure_versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_versions VALUES ('env_1', 2);


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
-- Name: perdure_documents perdure_documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_documents
    ADD CONSTRAINT perdure_documents_pkey PRIMARY KEY (environment, key);


--
-- Name: perdure_migrations perdure_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_migrations
    ADD CONSTRAINT perdure_migrations_pkey PRIMARY KEY (number);


--
-- Name: perdure_versions perdure_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.perdure_versions
    ADD CONSTRAINT perdure_versions_pkey PRIMARY KEY (environment);


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
-- PostgreSQL database dump complete
--


