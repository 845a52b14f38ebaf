/**
 * The filter of the audit log is in the address, so that it can be shared; this file translates it into the parameters of the Cloud API.
 * Pure.
 */
import { parseEnvironmentId } from "@perdure/cloud";
import type { AccountOperations, RequestOf } from "@perdure/cloud-client";

export const AUDIT_FIELDS = ["actor", "action", "environment", "from", "to"] as const;
export type AuditField = (typeof AUDIT_FIELDS)[number];
/** Empty: any. `from`, `to`: in the format of `<input type="datetime-local">`, in the user's time zone. */
type AuditFilterFields = Readonly<Record<AuditField, string>>;

type Filter = Pick<RequestOf<AccountOperations["ListAuditEvents"]>, "actorId" | "action" | "environmentId" | "from" | "to">;

export function fieldsOf(search: URLSearchParams): AuditFilterFields {
  return {
    actor: search.get("actor") ?? "",
    action: search.get("action") ?? "",
    environment: search.get("environment") ?? "",
    from: search.get("from") ?? "",
    to: search.get("to") ?? "",
  };
}

/** Omits empty fields. */
export function searchOf(fields: AuditFilterFields): URLSearchParams {
  return new URLSearchParams(AUDIT_FIELDS.filter((field) => fields[field] !== "").map((field) => [field, fields[field]]));
}

/** Invalid values are left out. */
export function filterOf({ actor, action, environment, from, to }: AuditFilterFields): Filter {
  const environmentId = parseEnvironmentId(environment);
  const [since, until] = [secondsOf(from), secondsOf(to)];
  return {
    ...(actor === "" ? {} : { actorId: actor }),
    ...(action.trim() === "" ? {} : { action: action.trim() }),
    ...(environmentId === undefined ? {} : { environmentId }),
    ...(since === undefined ? {} : { from: since }),
    ...(until === undefined ? {} : { to: until }),
  };
}

function secondsOf(local: string): number | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) || ms < 0 ? undefined : Math.floor(ms / 1_000);
}

/** `perdure-audit-2026-11-22.csv` */
export function fileName(format: "jsonl" | "csv", nowMs: number): string {
  return `perdure-audit-${new Date(nowMs).toISOString().slice(0, 10)}.${format}`;
}

/** Actions of the audit log, for the filter. */
export const ACTIONS = [
  "account.change-plan",
  "account.create",
  "account.update",
  "environment.create",
  "environment.destroy",
  "environment.erased",
  "environment.gaveUp",
  "environment.provisioned",
  "environment.provisioningFailed",
  "environment.resume",
  "environment.retry",
  "environment.suspend",
  "environment.throttle",
  "environment.undelete",
  "environment.unthrottle",
  "environment.update",
  "key.create",
  "key.delete",
  "login.sign-in",
  "login.sign-out",
  "member.invite",
  "member.join",
  "member.remove",
  "member.update",
  "member.withdraw-invitation",
  "quota.warn",
  "signing-key.promote",
  "signing-key.retire",
  "signing-key.rotate",
  "tunnel.close",
  "tunnel.open",
  "tunnel.refuse",
] as const;
