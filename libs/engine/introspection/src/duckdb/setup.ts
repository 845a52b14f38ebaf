/**
 * SQL that makes DuckDB run statements written for the reference's engine (introspection-sql.md §5.1), and SQL that locks it. Functions
 * of other names are macros; differences that need another text are in `query/rewrite.ts`.
 */

export const CATALOG = "restate";
export const SCHEMA = "public";

/** Run once, on the first connection. */
export const PREPARE: readonly string[] = [
  `ATTACH ':memory:' AS ${CATALOG}`,
  `CREATE SCHEMA ${CATALOG}.${SCHEMA}`,
  "SET GLOBAL TimeZone = 'UTC'",
  "SET GLOBAL default_null_order = 'nulls_last_on_asc_first_on_desc'",
  "SET GLOBAL integer_division = true",
  "SET GLOBAL temp_directory = ''",
];

/** Run on each connection. */
export const ENTER = `USE ${CATALOG}.${SCHEMA}`;

/** Run last: from then on no statement reaches files, the network or settings. */
export const LOCK: readonly string[] = ["SET GLOBAL enable_external_access = false", "SET GLOBAL lock_configuration = true"];

/** A function over a JSON text and up to four steps into it, names or positions. */
function jsonMacro(name: string, body: (json: string, path: string) => string): string {
  const steps = ["a", "b", "c", "d"];
  const overloads = steps.map((_, last) => {
    const used = steps.slice(0, last + 1);
    const path = used.map((step) => `'/' || replace(replace(CAST(${step} AS VARCHAR), '~', '~0'), '/', '~1')`).join(" || ");
    return `(j, ${used.join(", ")}) AS ${body("j", path)}`;
  });
  return `CREATE MACRO ${name} ${overloads.join(", ")}`;
}

export const MACROS: readonly string[] = [
  "CREATE MACRO to_unixtime(t) AS CAST(epoch(t) AS BIGINT)",
  // From 1970 on unless the statement names an origin; the engine's own default is a Monday of 2000.
  `CREATE MACRO date_bin(i, t) AS time_bucket(i, CAST(t AS TIMESTAMPTZ), TIMESTAMPTZ '1970-01-01T00:00:00Z'),
    (i, t, o) AS time_bucket(i, CAST(t AS TIMESTAMPTZ), CAST(o AS TIMESTAMPTZ))`,
  "CREATE MACRO to_timestamp(x) AS CAST(x AS TIMESTAMPTZ)",
  "CREATE MACRO to_timestamp_millis(x) AS epoch_ms(x)",
  "CREATE MACRO encode(b, f) AS CASE f WHEN 'hex' THEN lower(hex(b)) WHEN 'base64' THEN rtrim(base64(b), '=') END",
  "CREATE MACRO octet_length(x) AS strlen(x)",
  "CREATE MACRO char_length(x) AS length(x)",
  "CREATE MACRO regexp_like(a, b) AS regexp_matches(a, b)",
  // The meaning of `~` in the engine; in PostgreSQL `~` also matches a part.
  "CREATE MACRO regexp_full_match(a, b) AS regexp_matches(a, b)",
  "CREATE MACRO approx_distinct(x) AS approx_count_distinct(x)",
  "CREATE MACRO approx_percentile_cont(x, p) AS approx_quantile(x, p)",
  "CREATE MACRO array_length(x) AS len(x)",
  "CREATE MACRO arrow_cast(x, t) AS x",
  `CREATE MACRO arrow_name(t) AS CASE t
    WHEN 'VARCHAR' THEN 'LargeUtf8' WHEN 'BLOB' THEN 'LargeBinary' WHEN 'BOOLEAN' THEN 'Boolean'
    WHEN 'INTEGER' THEN 'Int64' WHEN 'BIGINT' THEN 'Int64' WHEN 'HUGEINT' THEN 'Int64' WHEN 'UINTEGER' THEN 'UInt32'
    WHEN 'UBIGINT' THEN 'UInt64' WHEN 'DOUBLE' THEN 'Float64' WHEN 'TIMESTAMP WITH TIME ZONE' THEN 'Timestamp(ms, "+00:00")'
    WHEN 'INTERVAL' THEN 'Duration(ms)' WHEN 'UINTEGER[]' THEN 'List(UInt32)' WHEN 'VARCHAR[]' THEN 'List(LargeUtf8)'
    ELSE CASE WHEN t LIKE 'DECIMAL(%' THEN 'Float64' ELSE t END END`,
  "CREATE MACRO arrow_typeof(x) AS arrow_name(typeof(x))",
  jsonMacro("json_get", (json, path) => `json_extract(${json}, ${path})`),
  jsonMacro("json_get_json", (json, path) => `CAST(json_extract(${json}, ${path}) AS VARCHAR)`),
  jsonMacro("json_as_text", (json, path) => `json_extract_string(${json}, ${path})`),
  jsonMacro(
    "json_get_str",
    (json, path) => `CASE json_type(${json}, ${path}) WHEN 'VARCHAR' THEN json_extract_string(${json}, ${path}) END`,
  ),
  jsonMacro("json_get_int", (json, path) => `TRY_CAST(json_extract_string(${json}, ${path}) AS BIGINT)`),
  jsonMacro("json_get_float", (json, path) => `TRY_CAST(json_extract_string(${json}, ${path}) AS DOUBLE)`),
  jsonMacro("json_get_bool", (json, path) => `TRY_CAST(json_extract_string(${json}, ${path}) AS BOOLEAN)`),
];
