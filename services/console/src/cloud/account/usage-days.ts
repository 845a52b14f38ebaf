/** Sums usage by day and environment into totals of the month, and computes what is left of the quota. Pure. */
import type { CloudResponse } from "../cloud-api.js";

export type AccountUsage = CloudResponse<"GetUsage">;
type UsageCounters = Omit<AccountUsage["days"][number], "environmentId" | "day">;

export interface DailyUsage extends UsageCounters {
  /** `2026-11-22`, in UTC. */
  readonly day: string;
}

const DAY_MS = 86_400_000;
const FIELDS = [
  "actions",
  "ingressRequests",
  "adminRequests",
  "bytesIn",
  "bytesOut",
  "tunnelBytes",
  "storedBytes",
  "storedBytesPeak",
] as const;

/** Every day from first to last, those without usage too; of all environments together. */
export function byDay({ from, to, days }: Pick<AccountUsage, "from" | "to" | "days">): readonly DailyUsage[] {
  const all = new Map<string, Record<keyof UsageCounters, number>>();
  for (let ms = Date.parse(from); ms <= Date.parse(to); ms += DAY_MS) all.set(new Date(ms).toISOString().slice(0, 10), nothing());
  for (const one of days) {
    const sums = all.get(one.day);
    if (sums === undefined) continue;
    for (const field of FIELDS) sums[field] += one[field];
  }
  return [...all].map(([day, sums]) => ({ day, ...sums }));
}

const nothing = (): Record<keyof UsageCounters, number> => ({
  actions: 0,
  ingressRequests: 0,
  adminRequests: 0,
  bytesIn: 0,
  bytesOut: 0,
  tunnelBytes: 0,
  storedBytes: 0,
  storedBytesPeak: 0,
});

/** Use of the plan's traffic: answers and tunnels. */
export function trafficOf({ bytesOut, tunnelBytes }: Pick<UsageCounters, "bytesOut" | "tunnelBytes">): number {
  return bytesOut + tunnelBytes;
}

/** Returns the stored bytes of the last day with data, by environment. */
export function storedNow(days: AccountUsage["days"]): ReadonlyMap<string, number> {
  const last = new Map<string, { readonly day: string; readonly bytes: number }>();
  for (const { environmentId, day, storedBytes } of days) {
    if (day >= (last.get(environmentId)?.day ?? "")) last.set(environmentId, { day, bytes: storedBytes });
  }
  return new Map([...last].map(([id, { bytes }]) => [id, bytes]));
}

interface Share {
  readonly percent: number;
  readonly tone: "good" | "warn" | "bad";
}

/** The cloud warns at 80 %. */
export function shareOf(used: number, max: number): Share {
  const percent = max === 0 ? 0 : Math.round((used / max) * 100);
  return { percent, tone: percent >= 100 ? "bad" : percent >= 80 ? "warn" : "good" };
}

export interface Month {
  /** `2026-11` */
  readonly id: string;
  readonly from: string;
  /** The last day of the month, or today in the current month. */
  readonly to: string;
}

/** A year at most, the present month first; none before the account began. */
export function monthsUntil(nowMs: number, sinceMs: number): readonly [Month, ...Month[]] {
  const today = new Date(nowMs).toISOString().slice(0, 10);
  const since = new Date(sinceMs).toISOString().slice(0, 7);
  const earlier: Month[] = [];
  const [year, month] = [Number(today.slice(0, 4)), Number(today.slice(5, 7)) - 1];
  const dayText = (monthIndex: number, day: number) => new Date(Date.UTC(year, monthIndex, day)).toISOString().slice(0, 10);
  const firstDay = dayText(month, 1);
  for (let back = 1; back < 12; back++) {
    const from = dayText(month - back, 1);
    const id = from.slice(0, 7);
    if (id < since) break;
    earlier.push({ id, from, to: dayText(month - back + 1, 0) });
  }
  return [{ id: firstDay.slice(0, 7), from: firstDay, to: today }, ...earlier];
}

/** `November 2026` */
export function monthName(id: string): string {
  return new Date(`${id}-01T00:00:00Z`).toLocaleDateString(undefined, { month: "long", year: "numeric", timeZone: "UTC" });
}

/**
 * Usage at the end of the month if each remaining day is like the mean of the days so far; today counts as a whole day. Undefined in the
 * first two days, which say too little, and when the month is over.
 */
export function forecastOf(used: number, { from, to }: Pick<Month, "from" | "to">): number | undefined {
  const first = new Date(`${from}T00:00:00Z`);
  const daysInMonth = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const day = Number(to.slice(8, 10));
  return day < 3 || day >= daysInMonth ? undefined : Math.round((used / day) * daysInMonth);
}

const CSV_COLUMNS = ["day", ...FIELDS] as const;

/** A line for each day, with the names of fields in the first one; bytes are whole numbers. */
export function usageCsv(days: readonly DailyUsage[]): string {
  const lines = days.map((one) => CSV_COLUMNS.map((column) => one[column]).join(","));
  return `${[CSV_COLUMNS.join(","), ...lines].join("\r\n")}\r\n`;
}
