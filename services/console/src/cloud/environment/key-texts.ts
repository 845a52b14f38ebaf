/** Explains for each role of a key what it may access. Pure. */
import type { KeyRole } from "@perdure/cloud";

export const KEY_ROLE_LABELS: Readonly<Record<KeyRole, { readonly name: string; readonly opens: string }>> = {
  "rst:role::FullAccess": { name: "Full access", opens: "call handlers, manage the environment, open tunnels" },
  "rst:role::IngressAccess": { name: "Ingress", opens: "call handlers only; for backends and gateways" },
  "rst:role::AdminAccess": { name: "Admin", opens: "register deployments and manage, no calls; for CI" },
  "rst:role::ResolveAwakeableAccess": { name: "Awakeables", opens: "resolve and reject awakeables only; for third parties" },
  "perdure:role::AdminReadOnly": { name: "Read only", opens: "read everything except secrets" },
};

interface Maker {
  readonly userId: string;
  readonly email: string;
  readonly name?: string | undefined;
}

/** The user who created a key. The key outlives the membership, so users should see that. `members`: undefined until they are loaded. */
export function makerText(userId: string, self: string, members: readonly Maker[] | undefined): string {
  if (userId === self) return "by you";
  const maker = members?.find((one) => one.userId === userId);
  if (maker !== undefined) return `by ${maker.name ?? maker.email}`;
  return members === undefined ? `by ${userId}` : `by ${userId} (former member)`;
}

/** Choices for the validity of a key; the longest is for ever. */
export const EXPIRIES = [
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "7", label: "In a week" },
  { value: "1", label: "Tomorrow" },
  { value: "never", label: "Never" },
] as const;
export type Expiry = (typeof EXPIRIES)[number]["value"];

/** Unix seconds; undefined: for ever. */
export function expiresAt(expiry: Expiry, nowMs: number): number | undefined {
  return expiry === "never" ? undefined : Math.floor(nowMs / 1_000) + Number(expiry) * 86_400;
}

const RATE_MAX = 100_000;

/** The error of the field; empty means no limit of its own. */
export function rateProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const rate = Number(text);
  return Number.isInteger(rate) && rate >= 1 && rate <= RATE_MAX
    ? undefined
    : `A whole number from 1 to ${RATE_MAX.toLocaleString("en")}.`;
}
