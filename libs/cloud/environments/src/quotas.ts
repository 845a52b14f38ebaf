/**
 * Enforces the monthly quotas of plans and the idle limit of environments (cloud.md §5.4): owners get a mail in time, usage beyond the
 * quota suspends or throttles, and a new month or a bigger plan undoes that.
 *
 * actions   80 %: mail      120 %: suspended          traffic   80 %: mail      100 %: throttled
 * idle      10 of 14 days: mail      14 days: suspended, until an authenticated request arrives
 */
import { RepeatedTask } from "@perdure/base";
import type { AccountId, AccountPlan } from "@perdure/cloud";
import { idleText, putMail, quotaSuspendedText, quotaWarningText } from "@perdure/mail";
import type { AuditEntry, EnvironmentRecord, MonthlyUse, StatusTransition, TenancyTables } from "@perdure/postgres";
import { IDLE_WARNED_SHARE, QUOTAS_EVERY_MS, SUSPEND_ABOVE, USAGE_SOURCE_MS, WARN_ABOVE } from "./limits.js";
import type { EnvironmentPorts } from "./ports.js";

/** Checks all environments at intervals until it is disposed of. */
export function openQuotas(ports: EnvironmentPorts): AsyncDisposable {
  const { clock, logger } = ports;
  const failed = "quotas could not be checked; retrying";
  return new RepeatedTask({ clock, logger, pauseMs: QUOTAS_EVERY_MS, run: () => enforceQuotas(ports), failed });
}

const NOTHING_USED = { actions: 0, trafficBytes: 0 };

/** Checks all environments once. */
export async function enforceQuotas(ports: EnvironmentPorts): Promise<void> {
  const { database, clock } = ports;
  const { accounts, environments, usage } = database.tables;
  const nowMs = clock.nowMs();
  await usage.deleteSources(nowMs - USAGE_SOURCE_MS);
  const [living, used, plans] = await Promise.all([environments.living(), usage.ofMonth(nowMs), accounts.plans()]);
  const usedBy = new Map(used.map((one) => [one.accountId, one]));
  const planIds = await accounts.planIds([...new Set(living.map(({ accountId }) => accountId))]);
  const planOf = new Map(plans.map((plan) => [plan.id, plan]));
  for (const [accountId, own] of Map.groupBy(living, ({ accountId }) => accountId)) {
    const plan = planOf.get(planIds.get(accountId) ?? "");
    if (plan === undefined) continue;
    const use = usedBy.get(accountId) ?? NOTHING_USED;
    await warnOfQuotas(ports, accountId, plan, use, nowMs);
    for (const environment of own) await checkQuota(ports, environment, plan, use, nowMs);
  }
}

type Use = Pick<MonthlyUse, "actions" | "trafficBytes">;

async function checkQuota(
  ports: EnvironmentPorts,
  environment: EnvironmentRecord,
  plan: AccountPlan,
  use: Use,
  nowMs: number,
): Promise<void> {
  const step = due(environment, plan, use.actions, nowMs);
  if (step !== undefined) return take(ports, environment, step, use, plan, nowMs);
  const isThrottled = use.trafficBytes >= plan.trafficBytesPerMonth;
  if (isThrottled !== environment.isThrottled) await throttle(ports, environment, isThrottled, use, plan, nowMs);
  const idleSuspendMs = plan.idleSuspendMs ?? Number.POSITIVE_INFINITY;
  const idleMs = nowMs - environment.lastTrafficAtMs;
  if (environment.status === "ACTIVE" && idleMs > idleSuspendMs * IDLE_WARNED_SHARE) {
    await warnOfIdleness(ports, environment, idleSuspendMs - idleMs, nowMs);
  }
}

type DueStep = Pick<StatusTransition, "event" | "suspendedFor"> & { readonly details: Readonly<Record<string, unknown>> };

/** The change that an environment needs when its account used so many actions this month; exported for the table of cases in its test. */
function due(environment: EnvironmentRecord, plan: AccountPlan, actions: number, nowMs: number): DueStep | undefined {
  const { status, suspendedFor, lastTrafficAtMs } = environment;
  const { actionsPerMonth, idleSuspendMs } = plan;
  if (status === "SUSPENDED" && suspendedFor === "quota" && actions < actionsPerMonth) {
    return { event: "resume", details: { actions, actionsPerMonth } };
  }
  if (status !== "ACTIVE") return undefined;
  if (actions > actionsPerMonth * SUSPEND_ABOVE) {
    return { event: "suspend", suspendedFor: "quota", details: { actions, actionsPerMonth } };
  }
  if (idleSuspendMs !== undefined && nowMs - lastTrafficAtMs > idleSuspendMs) {
    return { event: "suspend", suspendedFor: "idle", details: { lastTrafficAtMs } };
  }
  return undefined;
}

async function take(
  ports: EnvironmentPorts,
  { id, accountId, name, changedAtMs }: EnvironmentRecord,
  { details, ...step }: DueStep,
  { actions }: Use,
  { actionsPerMonth }: AccountPlan,
  nowMs: number,
): Promise<void> {
  await ports.database.change(async (tables) => {
    const present = await tables.environments.lock(id);
    if (present?.changedAtMs !== changedAtMs) return; // It was changed meanwhile: the next check decides again.
    if ((await tables.environments.take(id, { ...step, nowMs })) === undefined) return;
    const auditDetails = step.suspendedFor === undefined ? details : { ...details, for: step.suspendedFor };
    await tables.audit.append(line(accountId, `environment.${step.event}`, auditDetails, nowMs, { id, name }));
    if (
      step.suspendedFor === "quota" &&
      (await tables.mails.isFirstNotice(accountId, "suspended for actions", monthOf(nowMs), nowMs))
    ) {
      await mailOwners(ports, tables, accountId, (account) => quotaSuspendedText(account, actions, actionsPerMonth));
    }
    ports.logger.info({ environmentId: id, event: step.event, for: step.suspendedFor }, "quotas changed an environment");
  });
}

async function throttle(
  { database, logger }: EnvironmentPorts,
  { id, accountId, name }: EnvironmentRecord,
  isThrottled: boolean,
  { trafficBytes }: Use,
  { trafficBytesPerMonth }: AccountPlan,
  nowMs: number,
): Promise<void> {
  await database.change(async (tables) => {
    await tables.environments.setThrottled(id, isThrottled);
    const action = isThrottled ? "environment.throttle" : "environment.unthrottle";
    await tables.audit.append(line(accountId, action, { trafficBytes, trafficBytesPerMonth }, nowMs, { id, name }));
  });
  logger.info({ environmentId: id, isThrottled }, "quotas changed an environment");
}

/** Once in a month for each quota, and again after the plan was changed. */
async function warnOfQuotas(
  ports: EnvironmentPorts,
  accountId: AccountId,
  plan: AccountPlan,
  use: Use,
  nowMs: number,
): Promise<void> {
  const quotas = [
    {
      what: "actions",
      used: use.actions,
      max: plan.actionsPerMonth,
      then: "A fifth beyond that its environments are suspended.",
    },
    {
      what: "bytes of traffic",
      used: use.trafficBytes,
      max: plan.trafficBytesPerMonth,
      then: "Beyond that, requests are slowed down.",
    },
  ];
  for (const { what, used, max, then } of quotas) {
    if (used < max * WARN_ABOVE) continue;
    await ports.database.change(async (tables) => {
      if (!(await tables.mails.isFirstNotice(accountId, `warned of ${what}`, `${monthOf(nowMs)} ${plan.id}`, nowMs))) return;
      await tables.audit.append(line(accountId, "quota.warn", { quota: what, used, max }, nowMs));
      await mailOwners(ports, tables, accountId, (account) => quotaWarningText(account, what, used, max, then));
    });
  }
}

/** Once per idle period. */
async function warnOfIdleness(
  ports: EnvironmentPorts,
  { id, accountId, name, lastTrafficAtMs }: EnvironmentRecord,
  leftMs: number,
  nowMs: number,
): Promise<void> {
  const days = Math.max(1, Math.ceil(leftMs / DAY_MS));
  await ports.database.change(async (tables) => {
    if (!(await tables.mails.isFirstNotice(id, "warned of idleness", String(lastTrafficAtMs), nowMs))) return;
    await tables.audit.append(line(accountId, "environment.warn-idle", { lastTrafficAtMs, days }, nowMs, { id, name }));
    await mailOwners(ports, tables, accountId, (account) => idleText(name, account, days));
  });
}

/** Sends a mail to the members that may change the plan. */
async function mailOwners(
  ports: EnvironmentPorts,
  tables: TenancyTables,
  accountId: AccountId,
  text: (accountName: string) => { readonly subject: string; readonly text: string },
): Promise<void> {
  const account = await tables.accounts.get(accountId);
  for (const to of await tables.accounts.addressesOf(accountId, ["owner", "billing"])) {
    await putMail(ports, tables, { to, ...text(account?.name ?? accountId) });
  }
}

const DAY_MS = 86_400_000;

function monthOf(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 7);
}

function line(
  accountId: AccountId,
  action: string,
  details: Readonly<Record<string, unknown>>,
  atMs: number,
  environment?: Pick<EnvironmentRecord, "id" | "name">,
): AuditEntry {
  return {
    atMs,
    accountId,
    environmentId: environment?.id,
    actorKind: "system",
    actorId: "quotas",
    action,
    target: environment?.name,
    details,
    requestId: undefined,
    remoteAddress: undefined,
  };
}
