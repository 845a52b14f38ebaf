/** The two formats of timestamps in answers (admin-api.md §1.3). */

/** `2026-11-21T06:05:55.918000000Z`: nine digits of fraction, UTC. `ms` since 1970, whole. */
export function formatTimestampNanos(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000000Z`;
}

/** `2026-11-22T06:05:54.440+00:00`: three digits of fraction, numeric offset. `ms` since 1970, whole. */
export function formatRfc3339Offset(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}+00:00`;
}
