/** Completed invocations, apart from those that are live. */
export const archiveTables = `
-- The highest epoch that wrote, for each partition: a writer with a lower one was deposed.
CREATE TABLE perdure_archive_leaders (
  environment text NOT NULL,
  partition int NOT NULL,
  epoch bigint NOT NULL,
  PRIMARY KEY (environment, partition)
);

-- One row per invocation; ids as their 24 bytes, times in milliseconds since 1970. Row, journal and events are as the partition
-- store keeps them. Not partitioned by time: rows are read by id, which has no time in it, and are deleted one by one.
CREATE TABLE perdure_archive (
  environment text NOT NULL,
  id bytea NOT NULL,
  partition int NOT NULL,
  service text NOT NULL,
  is_failure boolean NOT NULL,
  created_at_ms bigint NOT NULL,
  completed_at_ms bigint NOT NULL,
  retained_until_ms bigint NOT NULL,
  expires boolean NOT NULL,
  row bytea NOT NULL,
  journal bytea NOT NULL,
  events bytea NOT NULL,
  PRIMARY KEY (environment, id)
);
CREATE INDEX perdure_archive_by_partition ON perdure_archive (environment, partition, created_at_ms, id);
CREATE INDEX perdure_archive_by_service ON perdure_archive (environment, service, created_at_ms, id);
CREATE INDEX perdure_archive_by_creation ON perdure_archive (environment, created_at_ms, id);
CREATE INDEX perdure_archive_by_end ON perdure_archive (environment, retained_until_ms) WHERE expires;
-- As many rows leave as come: what they leave behind is reclaimed before it is a fifth of the table.
ALTER TABLE perdure_archive SET (autovacuum_vacuum_scale_factor = 0.02);

-- Answers the highest epoch known. Writers of one partition take turns from here to the end of their transaction.
CREATE FUNCTION perdure_archive_lead(env text, of_partition int, with_epoch bigint) RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO perdure_archive_leaders AS l VALUES (env, of_partition, with_epoch)
  ON CONFLICT (environment, partition) DO UPDATE SET epoch = greatest(l.epoch, excluded.epoch)
  RETURNING l.epoch
$$;

-- Arrays are parallel. Answers the epoch that fences the writer, or null when everything is written.
CREATE FUNCTION perdure_archive_put(
  env text, of_partition int, with_epoch bigint, ids bytea[], services text[], failures boolean[], created bigint[],
  completed bigint[], retained bigint[], expiring boolean[], new_rows bytea[], journals bytea[], all_events bytea[]
) RETURNS bigint LANGUAGE plpgsql AS $$
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

CREATE FUNCTION perdure_archive_forget(env text, of_partition int, with_epoch bigint, ids bytea[], retained bigint[])
RETURNS bigint LANGUAGE plpgsql AS $$
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
`;
