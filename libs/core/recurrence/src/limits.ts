/** Every bound of recurrences, each with the reason for its value. */

/** Longest cron expression: five or six fields of long lists fit many times over. */
export const CRON_CHARS_MAX = 256;

/** Shortest time between two firings of a schedule; a handler that must run more often should loop. */
export const INTERVAL_MS_MIN = 1000;

/** Longest interval of `every …`: a leap year. */
export const INTERVAL_MS_MAX = 366 * 86_400_000;

/**
 * Number of years ahead that are searched for the next fire time. A fifth Monday in February comes every 28 years, 40 across a century
 * that is not a leap year; a date that is not within this never comes.
 */
export const YEARS_AHEAD_MAX = 50;

/** Maximum number of zones whose offsets are cached; IANA has some 600 names. */
export const ZONES_MAX = 1024;

/** Number of weeks of offsets cached per zone: twenty years. When full, the cache of the zone is emptied. */
export const ZONE_WEEKS_MAX = 1040;
