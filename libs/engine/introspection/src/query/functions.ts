/**
 * The functions that statements may call. The engine has some nine hundred functions, and new versions add others: some read settings,
 * run text as SQL, wait, take as much memory as a number specifies or minutes in one step. So no function outside of this list runs.
 * Macros of this package (`duckdb/setup.ts`) are checked by their own names, not by their bodies.
 */

const lists = (...texts: readonly string[]): ReadonlySet<string> => new Set(texts.flatMap((names) => names.split(" ")));

/** Functions and operators of expressions, aggregates and window functions. */
export const ALLOWED_FUNCTIONS: ReadonlySet<string> = lists(
  // Operators, as the engine's tree names them.
  "+ - * / // % ** ^ & | << >> ~ ! !__postfix @ || && @> <@ ^@ -> ->> ~~ !~~ ~~* !~~* ~~~ ~* !~ !~*",
  "like_escape not_like_escape ilike_escape not_ilike_escape regexp_full_match add subtract multiply divide mod fmod fdiv xor",
  // Numbers.
  "abs sign signbit ceil ceiling floor round round_even trunc even sqrt cbrt exp ln log log2 log10 pow power pi random factorial gcd lcm",
  "greatest least isnan isinf isfinite sin cos tan asin acos atan atan2 radians degrees bit_count",
  // Texts.
  "length len char_length character_length octet_length bit_length strlen length_grapheme lower upper lcase ucase trim ltrim rtrim",
  "substr substring substring_grapheme left right reverse replace translate concat concat_ws split_part split str_split string_split",
  "string_to_array array_to_string starts_with ends_with prefix suffix contains position strpos instr ascii chr ord unicode",
  "regexp_like regexp_matches regexp_extract regexp_extract_all regexp_replace regexp_escape regexp_split_to_array",
  "strip_accents nfc_normalize url_encode url_decode format_bytes formatreadablesize pg_size_pretty md5 sha1 sha256 hash",
  // Bytes.
  "hex unhex to_hex from_hex base64 to_base64 from_base64 encode decode bin",
  // Times.
  "now today current_date current_time current_timestamp get_current_time get_current_timestamp transaction_timestamp current_localtime",
  "current_localtimestamp date_part datepart extract date_trunc datetrunc date_diff datediff date_sub datesub date_add date_bin time_bucket",
  "age ago epoch epoch_ms epoch_us epoch_ns to_unixtime to_timestamp to_timestamp_millis timezone strftime strptime try_strptime",
  "make_date make_time make_timestamp make_timestamptz make_timestamp_ms year month day hour minute second millisecond microsecond week",
  "weekday isodow dayofweek dayofmonth dayofyear quarter yearweek dayname monthname last_day to_years to_months to_weeks to_days",
  "to_hours to_minutes to_seconds to_milliseconds to_microseconds normalized_interval days_in_month",
  // NULL, types.
  "nullif ifnull coalesce error typeof pg_typeof arrow_typeof arrow_name arrow_cast alias",
  "can_cast_implicitly version current_database current_schema current_catalog current_user user session_user",
  // JSON.
  "json json_get json_get_json json_as_text json_get_str json_get_int json_get_float json_get_bool json_extract json_extract_path",
  "json_extract_string json_extract_path_text json_value json_exists json_valid json_type json_keys json_array_length json_contains",
  "json_array json_object json_quote json_pretty to_json row_to_json array_to_json json_group_array json_group_object json_structure",
  // Lists, structs, maps.
  "list_value list_pack array_value unnest list_contains list_has array_contains array_has list_has_any list_has_all array_has_any",
  "array_has_all list_extract list_element array_extract element_at array_length cardinality list_slice array_slice list_sort array_sort list_reverse_sort",
  "array_reverse_sort list_reverse array_reverse list_distinct array_distinct list_unique array_unique list_position list_indexof",
  "array_position array_indexof list_concat list_cat array_concat array_cat list_append array_append list_prepend array_prepend",
  "list_aggregate list_aggr array_aggregate array_aggr list_sum list_min list_max list_avg list_count list_first list_last",
  "list_string_agg list_any_value list_median list_filter array_filter filter list_transform array_transform apply list_apply array_apply",
  "list_intersect array_intersect flatten struct_pack struct_extract row map map_keys map_values map_entries map_extract map_contains",
  // Aggregates.
  "count count_star count_if countif sum sum_no_overflow fsum avg mean min max any_value arbitrary first last first_value last_value nth_value",
  "arg_min arg_max argmin argmax min_by max_by arg_min_null arg_max_null bool_and bool_or bit_and bit_or bit_xor string_agg group_concat",
  "listagg array_agg list mode median quantile quantile_cont quantile_disc approx_quantile approx_percentile_cont approx_count_distinct",
  "approx_distinct approx_top_k stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp skewness kurtosis",
  "entropy histogram product geomean grouping grouping_id",
  // Window functions.
  "row_number rank dense_rank percent_rank cume_dist ntile lag lead",
);

/** Functions in FROM: those that make rows of their arguments. */
export const ALLOWED_TABLE_FUNCTIONS: ReadonlySet<string> = lists("unnest range generate_series json_each json_tree");
