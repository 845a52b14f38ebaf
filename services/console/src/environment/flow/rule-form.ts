/** Turns the form into one change of a rule. Pure. */
import type { RuleUpsert } from "@perdure/admin-client";
import type { LimitRule } from "./flow-rows.js";

export interface RuleFields {
  readonly pattern: string;
  readonly concurrency: string;
  readonly rateLimit: string;
  readonly ratePer: string;
  readonly burst: string;
  readonly weight: string;
  readonly priority: string;
  readonly description: string;
}

export function ruleFields(rule: LimitRule | undefined): RuleFields {
  const text = (value: number | undefined): string => (value === undefined ? "" : String(value));
  return {
    pattern: rule?.pattern ?? "",
    concurrency: text(rule?.concurrency),
    rateLimit: text(rule?.rate?.limit),
    ratePer: rule?.rate === undefined ? "1s" : `${rule.rate.perMs}ms`,
    burst: rule?.rate === undefined || rule.rate.burst === rule.rate.limit ? "" : text(rule.rate.burst),
    weight: text(rule?.weight),
    priority: text(rule?.priority),
    description: rule?.description ?? "",
  };
}

const PART = /^(?:\*|[a-zA-Z0-9_.-]{1,36})$/;

export function ruleProblems(fields: RuleFields): Partial<Record<keyof RuleFields, string>> {
  const problems: Partial<Record<keyof RuleFields, string>> = {};
  const parts = fields.pattern.split("/");
  if (parts.length > 3 || !parts.every((part) => PART.test(part))) {
    problems.pattern = "One to three parts with / between, each a name or *.";
  }
  const whole = (name: keyof RuleFields, max: number, problem: string) => {
    const text = fields[name];
    if (text !== "" && !(/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= max)) problems[name] = problem;
  };
  whole("concurrency", 4_294_967_295, "A whole number from 1.");
  whole("rateLimit", 1_000_000, "A whole number from 1 to 1,000,000.");
  whole("burst", 1_000_000, "A whole number from 1 to 1,000,000.");
  whole("weight", 1_000, "A whole number from 1 to 1000.");
  whole("priority", 5, "1 (first) to 5 (last).");
  if (fields.rateLimit !== "" && fields.ratePer.trim() === "") problems.ratePer = "A duration such as 1s or 10m.";
  return problems;
}

/** Refused when the rule has changed since it was loaded (`rule`), or when there is one already. */
export function ruleChange(fields: RuleFields, rule: LimitRule | undefined): RuleUpsert {
  const count = (text: string): number | null => (text === "" ? null : Number(text));
  const burst = fields.burst === "" ? {} : { burst: Number(fields.burst) };
  return {
    pattern: fields.pattern,
    limits: {
      concurrency: count(fields.concurrency),
      rate: fields.rateLimit === "" ? null : { limit: Number(fields.rateLimit), per: fields.ratePer.trim(), ...burst },
    },
    ...(fields.description.trim() === "" ? {} : { description: fields.description.trim() }),
    disabled: rule?.isDisabled ?? false,
    weight: count(fields.weight),
    priority: count(fields.priority),
    precondition: rule === undefined ? { type: "does_not_exist" } : { type: "matches", version: rule.version },
  };
}

/** Turns a rule off or on and leaves it as it is otherwise. */
export function ruleTurned(rule: LimitRule): RuleUpsert {
  return {
    pattern: rule.pattern,
    limits: { concurrency: rule.concurrency ?? null },
    ...(rule.description === undefined ? {} : { description: rule.description }),
    disabled: !rule.isDisabled,
    precondition: { type: "matches", version: rule.version },
  };
}
