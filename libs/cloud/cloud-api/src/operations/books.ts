/** Usage and the audit log. */

import { TenancyApiError } from "@perdure/cloud-requests";
import type { AuditFilter, AuditRecord, UsageDayRecord } from "@perdure/postgres";
import { AUDIT_EXPORT_LINES_MAX, AUDIT_EXPORT_PAGE, AUDIT_PAGE_DEFAULT, USAGE_DAYS_MAX } from "../limits.js";
import { type AccountCall, type AccountHandlers, seconds } from "../operation.js";

export const bookHandlers: Pick<AccountHandlers, "GetUsage" | "ListAuditEvents"> = {
  GetUsage: {
    needs: "usage",
    async handle(call, { environmentId, from: requestedFrom, to: until }) {
      const { tables } = call.ports.database;
      const today = new Date(call.nowMs).toISOString().slice(0, 10);
      const to = until ?? today;
      const from = requestedFrom ?? `${to.slice(0, 8)}01`;
      const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
      if (days < 1) throw new TenancyApiError("PERD0400", "from: must not be after 'to'");
      if (days > USAGE_DAYS_MAX) throw new TenancyApiError("PERD0400", `from: at most ${USAGE_DAYS_MAX} days are shown at once`);
      if (environmentId !== undefined) await call.environment(environmentId);
      const [used, plan] = await Promise.all([
        tables.usage.days(call.accountId, environmentId, from, to),
        tables.accounts.plan(call.accountId),
      ]);
      const sum = (field: "actions" | "ingressRequests" | "adminRequests" | "bytesIn" | "bytesOut" | "tunnelBytes"): number =>
        used.reduce((total: number, one: UsageDayRecord) => total + one[field], 0);
      return {
        from,
        to,
        days: used,
        totals: {
          actions: sum("actions"),
          ingressRequests: sum("ingressRequests"),
          adminRequests: sum("adminRequests"),
          bytesIn: sum("bytesIn"),
          bytesOut: sum("bytesOut"),
          tunnelBytes: sum("tunnelBytes"),
        },
        actionsPerMonth: plan?.actionsPerMonth ?? 0,
        trafficBytesPerMonth: plan?.trafficBytesPerMonth ?? 0,
      };
    },
  },

  ListAuditEvents: {
    needs: "members",
    async handle(call, { limit = AUDIT_PAGE_DEFAULT, before, ...filter }) {
      const lines = await call.ports.database.tables.audit.list({ ...filterOf(call, filter), before }, limit);
      return { events: lines.map(view), before: lines.length < limit ? undefined : lines.at(-1)?.number };
    },
  },
};

interface AuditExportOptions {
  readonly environmentId?: AuditFilter["environmentId"];
  readonly actorId?: string | undefined;
  readonly action?: string | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** The audit log as text, newest record first; CSV begins with a line of names. */
export async function* exportAudit(
  call: AccountCall,
  options: AuditExportOptions,
  format: "jsonl" | "csv",
): AsyncGenerator<string> {
  const filter = filterOf(call, options);
  if (format === "csv") yield `${CSV_COLUMNS.join(",")}\r\n`;
  let before: number | undefined;
  for (let lines = 0; lines < AUDIT_EXPORT_LINES_MAX; ) {
    const page = await call.ports.database.tables.audit.list({ ...filter, before }, AUDIT_EXPORT_PAGE);
    if (page.length > 0)
      yield page.map((line) => (format === "csv" ? csvLine(line) : `${JSON.stringify(view(line))}\n`)).join("");
    if (page.length < AUDIT_EXPORT_PAGE) return;
    before = page.at(-1)?.number;
    lines += page.length;
  }
}

const DAY_MS = 86_400_000;

function filterOf({ accountId }: AccountCall, { environmentId, actorId, action, from, to }: AuditExportOptions): AuditFilter {
  return {
    accountId,
    environmentId,
    actorId,
    action,
    fromMs: from === undefined ? undefined : from * 1_000,
    toMs: to === undefined ? undefined : to * 1_000,
  };
}

function view(line: AuditRecord) {
  const { number, atMs, actorKind, actorId, action, environmentId, target, details, requestId, remoteAddress } = line;
  return { number, at: seconds(atMs), actorKind, actorId, action, environmentId, target, details, requestId, remoteAddress };
}

const CSV_COLUMNS = [
  "number",
  "at",
  "actorKind",
  "actorId",
  "action",
  "environmentId",
  "target",
  "details",
  "requestId",
  "remoteAddress",
] as const;

function csvLine(line: AuditRecord): string {
  const shown = { ...view(line), at: new Date(line.atMs).toISOString(), details: JSON.stringify(line.details) };
  return `${CSV_COLUMNS.map((column) => csvField(String(shown[column] ?? ""))).join(",")}\r\n`;
}

/** Quoted where needed; text that a spreadsheet would take for a formula gets a quote in front. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
