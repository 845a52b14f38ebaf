/** Turns the limits of a plan (names and numbers) into sentences with units. Pure. */

import { isRecord } from "../../kit/problem-text.js";

interface LimitText {
  readonly name: string;
  readonly value: string;
}

type Limits = Readonly<Record<string, unknown>>;

const DAY_MS = 86_400_000;

/** Most important limit first. Limits that this console does not have are left out. */
export function limitTexts(limits: Limits): readonly LimitText[] {
  const number = (key: string): number | undefined => {
    const value = limits[key];
    return typeof value === "number" ? value : undefined;
  };
  const rate = (key: string): string | undefined => {
    const value = limits[key];
    const { perSecond, burst } = isRecord(value) ? value : {};
    if (typeof perSecond !== "number") return undefined;
    return `${count(perSecond)}/s${typeof burst === "number" ? `, burst ${count(burst)}` : ""}`;
  };
  const optional = <T>(value: T | undefined, textOf: (input: T) => string): string | undefined =>
    value === undefined ? undefined : textOf(value);
  const all: readonly (readonly [string, string | undefined])[] = [
    ["Environments", optional(number("environmentsPerAccountMax"), count)],
    ["Members, open invitations included", optional(number("membersMax"), count)],
    ["Actions per month", optional(number("actionsPerMonth"), count)],
    ["Traffic per month", optional(number("trafficBytesPerMonth"), bytesText)],
    ["Storage per environment", optional(number("storedBytesMax"), bytesText)],
    ["Requests to handlers", rate("ingressRate")],
    ["Requests to management", rate("adminRate")],
    ["Concurrent invocations", optional(number("concurrentInvocationsMax"), count)],
    ["Maximum body size", optional(number("bodyBytesMax"), bytesText)],
    ["Retention of completed invocations", optional(number("retentionMsMax"), daysText)],
    ["Deployments", optional(number("deploymentsMax"), count)],
    ["Services", optional(number("servicesMax"), count)],
    ["API keys per environment", optional(number("apiKeysMax"), count)],
    ["Kafka subscriptions", optional(number("subscriptionsMax"), count)],
    ["Tunnels", optional(number("tunnelNamesMax"), (names) => tunnelsText(names, number("tunnelConnectionsMax")))],
    ["Suspended when idle for", optional(number("idleSuspendMs"), daysText) ?? "never"],
  ];
  return all.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function tunnelsText(names: number, connections: number | undefined): string {
  return connections === undefined ? count(names) : `${count(names)}, with ${count(connections)} connections`;
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** `1 GiB`, `4.2 MiB` */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

function daysText(ms: number): string {
  const days = ms / DAY_MS;
  if (days < 1) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(days)} day${Math.round(days) === 1 ? "" : "s"}`;
}
