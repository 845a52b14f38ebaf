/** Bodies of requests about rules of flow control. */
import { formatDuration, LIMIT_KEY_LEVELS_MAX, parseDuration, scopeProblem } from "@perdure/base";
import { z } from "zod";
import { RULE_CHANGES_MAX, RULE_CONCURRENCY_MAX, RULE_PERIOD_MS_MAX, RULE_RATE_MAX, RULE_WEIGHT_MAX } from "../limits.js";

/** A scope and the levels of a limit key. */
const COMPONENTS_MAX = 1 + LIMIT_KEY_LEVELS_MAX;

const Pattern = z.string().superRefine((text, context) => {
  const fail = (message: string) => context.addIssue({ code: "custom", message });
  if (text === "") return fail("pattern cannot be empty");
  const components = text.split("/");
  if (components.length > COMPONENTS_MAX) return fail(`too many path components (max ${COMPONENTS_MAX})`);
  for (const component of components) {
    const problem = component === "*" ? undefined : scopeProblem(component);
    if (problem !== undefined) return fail(`invalid component: ${problem}`);
  }
});

const Version = z.number().int().min(0).max(4_294_967_295);

const wholeNumber = (min: number, max: number) => {
  const error = `expected a whole number from ${min} to ${max}`;
  return z.number(error).int(error).min(min, error).max(max, error);
};

/** A duration as in service settings: `1s`, `10 minutes`, `PT1H`. */
const Period = z.string("expected a duration such as `1s`").transform((text, context) => {
  const parsed = parseDuration(text);
  const problem = parsed.ok ? undefined : parsed.reason;
  if (parsed.ok && parsed.ms >= 1 && parsed.ms <= RULE_PERIOD_MS_MAX) return parsed.ms;
  context.addIssue({
    code: "custom",
    message: `expected a duration from 1ms to ${formatDuration(RULE_PERIOD_MS_MAX)}${problem === undefined ? "" : `: ${problem}`}`,
  });
  return z.NEVER;
});

const Rate = z.object({
  limit: wholeNumber(1, RULE_RATE_MAX),
  per: Period,
  /** Starts allowed at once after a pause; defaults to `limit`. */
  burst: wholeNumber(1, RULE_RATE_MAX).nullish(),
});

const Limits = z.object({
  concurrency: z.number().int().min(1).max(RULE_CONCURRENCY_MAX).nullish(),
  rate: Rate.nullish(),
});

const UpsertRule = z
  .object({
    pattern: Pattern,
    limits: Limits.nullish(),
    description: z.string().nullish(),
    disabled: z.boolean().nullish(),
    weight: wholeNumber(1, RULE_WEIGHT_MAX).nullish(),
    priority: wholeNumber(1, 5).nullish(),
    precondition: z
      .discriminatedUnion("type", [
        z.object({ type: z.literal("none") }),
        z.object({ type: z.literal("matches"), version: Version }),
        z.object({ type: z.literal("does_not_exist") }),
      ])
      .nullish(),
  })
  .meta({ id: "UpsertRuleRequest" });
export const PutRules = z.array(UpsertRule).max(RULE_CHANGES_MAX);

const DeleteRule = z.object({ pattern: Pattern, expected_version: Version.nullish() }).meta({ id: "DeleteRuleRequest" });
export const DeleteRules = z.array(DeleteRule).max(RULE_CHANGES_MAX);
