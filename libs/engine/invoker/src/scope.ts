/**
 * Flow-control options of a call (service-protocol §5.1): malformed options, or options for a server that has flow control disabled, are
 * RT0024; a target that cannot have a scope is RT0017.
 */
import { limitKeyProblem, scopeProblem } from "@perdure/base";
import type { CallCommand, Header, OneWayCallCommand } from "@perdure/service-protocol";
import { PRIORITY_DEFAULT, type ServiceType } from "@perdure/state-machine";
import { type RefusedCommand, refused } from "./attempt-failure.js";

/** Names the priority of a call. Only this server reads it: the callee does not receive it. */
const PRIORITY_HEADER = "x-perdure-priority";

/** Options of a call; empty without a scope. */
export interface FlowOptions {
  readonly scope: string | undefined;
  readonly limitKey: string | undefined;
  readonly priority: number;
  /** The options that are passed to the callee. */
  readonly headers: readonly Header[];
}

/** The options of a call to a service of this type, or the failure that refuses them. */
export function flowOptionsOf(
  command: CallCommand | OneWayCallCommand,
  serviceType: ServiceType,
  scopesEnabled: boolean,
): FlowOptions | RefusedCommand {
  const scope = command.scope || undefined;
  const limitKey = command.limitKey || undefined;
  const priorityText = priorityTextOf(command.headers);
  if (scope === undefined) {
    if (limitKey !== undefined) return refused("RT0024", "a limit key needs a scope");
    if (priorityText !== undefined) return refused("RT0024", "a priority needs a scope");
    return { scope, limitKey, priority: PRIORITY_DEFAULT, headers: command.headers };
  }
  const refusal = checkScope(scope, scopesEnabled) ?? checkLimitKey(limitKey) ?? checkPriority(priorityText);
  if (refusal !== undefined) return refusal;
  if (serviceType === "virtualObject") return refused("RT0017", "scope is not supported for Virtual Object targets");
  return {
    scope,
    limitKey,
    priority: priorityText === undefined ? PRIORITY_DEFAULT : Number(priorityText),
    headers: priorityText === undefined ? command.headers : command.headers.filter((header) => !isPriority(header)),
  };
}

/** The empty scope equals none. Returns undefined when the options are valid. */
export function checkScope(scope: string | undefined, scopesEnabled: boolean): RefusedCommand | undefined {
  if (scope === undefined || scope === "") return undefined;
  const problem = scopeProblem(scope);
  if (problem !== undefined) return refused("RT0024", `bad scope value: ${problem}`);
  return scopesEnabled ? undefined : refused("RT0024", "a scope was given, but flow control is not enabled");
}

function checkLimitKey(limitKey: string | undefined): RefusedCommand | undefined {
  const problem = limitKey === undefined ? undefined : limitKeyProblem(limitKey);
  return problem === undefined ? undefined : refused("RT0024", `invalid limit-key: ${problem}`);
}

function checkPriority(text: string | undefined): RefusedCommand | undefined {
  if (text === undefined || /^[1-5]$/.test(text)) return undefined;
  return refused("RT0024", "invalid priority: expected a whole number from 1 (first) to 5 (last)");
}

function priorityTextOf(headers: readonly Header[]): string | undefined {
  for (let i = 0; i < headers.length; i++) {
    const header = headers[i]!;
    if (isPriority(header)) return header.value;
  }
  return undefined;
}

function isPriority({ key }: Header): boolean {
  return key.length === PRIORITY_HEADER.length && key.toLowerCase() === PRIORITY_HEADER;
}
