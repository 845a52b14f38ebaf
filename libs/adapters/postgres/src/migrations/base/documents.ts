/** Metadata documents, versioned over the whole environment, and one function that writes several of them or none. */
export const documentTables = `
CREATE TABLE perdure_versions (
  environment text PRIMARY KEY,
  version bigint NOT NULL
);

-- Keys are the UTF-8 bytes of their text: lists are in byte order, whatever the database's collation says.
CREATE TABLE perdure_documents (
  environment text NOT NULL,
  key bytea NOT NULL,
  version bigint NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (environment, key)
);

-- keys, expected versions (null: whatever is there) and values (null: delete) are parallel arrays. Answers the version of
-- the write, or the place (from 1) and actual version of the first expectation that failed. Writers of one environment
-- take turns; readers never wait.
CREATE FUNCTION perdure_write(env text, keys bytea[], expected bigint[], new_values text[])
RETURNS TABLE (written bigint, conflict_at int, actual bigint) LANGUAGE plpgsql AS $$
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
`;
