/** Formats of times, sizes and counts, the same in every command. */
import { formatDuration } from "@perdure/base";

/** `2026-11-21 17:48:26 UTC`. */
export function showTime(unixSeconds: number | undefined): string {
  if (unixSeconds === undefined) return "–";
  return `${new Date(unixSeconds * 1_000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** `3d 4h`, `12s`, `250ms`: two units at most, and no milliseconds beside seconds. */
export function showDuration(ms: number): string {
  const whole = ms >= 1_000 ? Math.round(ms / 1_000) * 1_000 : Math.round(ms);
  return formatDuration(whole).split(" ").slice(0, 2).join(" ");
}

/** `in 3d 4h`, `5m ago`, `now`. */
export function showWhen(atMs: number, nowMs: number): string {
  const ms = atMs - nowMs;
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `in ${showDuration(ms)}` : `${showDuration(-ms)} ago`;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** `1.5 MiB`. */
export function showBytes(bytes: number): string {
  let rest = bytes;
  let unit = 0;
  while (rest >= 1_024 && unit < SIZES.length - 1) {
    rest /= 1_024;
    unit++;
  }
  return `${unit === 0 ? rest : rest.toFixed(1)} ${SIZES[unit]}`;
}

/** `12,345`. */
export function showCount(count: number): string {
  return count.toLocaleString("en-US");
}
