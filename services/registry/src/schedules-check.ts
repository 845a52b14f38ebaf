/** Refuses a schedule that cannot work when it is created (META0100), instead of failing when it should fire. */
import { limitKeyProblem, scopeProblem } from "@perdure/base";
import type { RegistrySnapshot } from "@perdure/control";
import { RegistryRefusal } from "@perdure/metadata";
import type { Timetable } from "@perdure/recurrence";
import { keyTemplateProblem, type ScheduleSpec, timetableOfSpec } from "@perdure/schedules";

interface SpecCheck {
  readonly snapshot: RegistrySnapshot;
  readonly scopesEnabled: boolean;
  readonly nowMs: number;
}

/** The timetable of a valid spec. Throws `RegistryRefusal` META0100. */
export function checkSpec(spec: ScheduleSpec, check: SpecCheck): Timetable {
  checkTarget(spec, check);
  return checkTimes(spec, check.nowMs);
}

function checkTimes(spec: ScheduleSpec, nowMs: number): Timetable {
  const times = timetableOfSpec(spec);
  if (!times.ok) throw invalid(times.field, times.reason);
  const { startAtMs, endAtMs } = spec;
  if (startAtMs !== undefined && endAtMs !== undefined && endAtMs < startAtMs) throw invalid("end_at", "it is before start_at");
  const first = times.value.next(startAtMs === undefined ? nowMs : Math.max(nowMs, startAtMs - 1));
  if (first === undefined) throw invalid("cron", "no date ever matches it");
  if (endAtMs !== undefined && first > endAtMs) throw invalid("end_at", "no time is left before it");
  return times.value;
}

function checkTarget({ target }: ScheduleSpec, { snapshot, scopesEnabled }: SpecCheck): void {
  const service = snapshot.services.get(target.service);
  if (service === undefined) throw invalid("target.service", `'${target.service}' is not registered`);
  const handler = service.handlers.get(target.handler);
  if (handler === undefined) throw invalid("target.handler", `'${target.service}' has no handler '${target.handler}'`);
  if (service.serviceType === "service") {
    if (target.key !== undefined) throw invalid("target.key", `'${target.service}' is a service and takes no key`);
  } else if (target.key === undefined && handler.handlerType !== "workflow") {
    throw invalid("target.key", `'${target.service}/${target.handler}' needs one`);
  }
  const badKey = target.key === undefined ? undefined : keyTemplateProblem(target.key);
  if (badKey !== undefined) throw invalid("target.key", badKey);
  const { scope, limitKey, priority } = target;
  if (scope === undefined) {
    if (limitKey !== undefined) throw invalid("target.limit_key", "it needs a scope");
    if (priority !== undefined) throw invalid("target.priority", "it needs a scope");
    return;
  }
  if (!scopesEnabled) throw invalid("target.scope", "flow control is not enabled");
  if (service.serviceType === "virtualObject") throw invalid("target.scope", "virtual objects have none");
  const badScope = scopeProblem(scope);
  if (badScope !== undefined) throw invalid("target.scope", badScope);
  const badLimitKey = limitKey === undefined ? undefined : limitKeyProblem(limitKey);
  if (badLimitKey !== undefined) throw invalid("target.limit_key", badLimitKey);
}

function invalid(field: string, reason: string): RegistryRefusal {
  return new RegistryRefusal(400, "META0100", `invalid '${field}': ${reason}`);
}
