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
-- Data for Name: perdure_documents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_documents VALUES ('env_1', '\x6465706c6f796d656e74732f64705f3135436852315044775a743232526e326c665a72526f35', 1, '{"uri":"http://greeter:9080/","createdAtMs":1763700000000}');
INSERT INTO public.perdure_documents VALUES ('env_1', '\x73657276696365732f47726565746572', 2, '{"revision":2,"public":true,"note":"it''s ünicode ☃ \\ ''"}');
INSERT INTO public.perdure_documents VALUES ('env_2', '\x73657276696365732f47726565746572', 1, '{"revision":7}');


--
-- Data for Name: perdure_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_migrations VALUES (1, 'documents', '2026-11-21 12:57:16.879455+00');


--
-- Data for Name: perdure_versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.perdure_versions VALUES ('env_1', 4);
INSERT INTO public.perdure_versions VALUES ('env_2', 1);


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
-- PostgreSQL database dump complete
--


