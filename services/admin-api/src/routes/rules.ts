/**
 * `/limits/rules`: rules of flow control, changed in batches that are applied completely or not at all (admin-api.md §6). Rates, weights
 * and priorities are our extension: tools without them omit these fields, and omitted fields do not change.
 */
import { formatDuration, LIMIT_KEY_LEVELS_MAX, parseDuration, scopeProblem } from "@perdure/base";
import { type Registry, RULE_WEIGHT_DEFAULT, type RuleChange, type RuleRate, type RuleRecord } from "@perdure/metadata";
import { z } from "zod";
import { json } from "../http/answer.js";
import type { ApiRoute } from "../http/route.js";
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
const PutRules = z.array(UpsertRule).max(RULE_CHANGES_MAX);

const DeleteRule = z.object({ pattern: Pattern, expected_version: Version.nullish() }).meta({ id: "DeleteRuleRequest" });
const DeleteRules = z.array(DeleteRule).max(RULE_CHANGES_MAX);

const RuleShape = z
  .strictObject({
    pattern: z.string(),
    limits: z.strictObject({
      concurrency: z.int().optional(),
      rate: z.strictObject({ limit: z.int(), per: z.string(), burst: z.int() }).optional(),
    }),
    description: z.string().optional(),
    disabled: z.boolean(),
    weight: z.int().optional(),
    priority: z.int().optional(),
    version: z.int(),
    last_modified_millis_since_epoch: z.int(),
  })
  .meta({ id: "RuleResponse" });

export function ruleRoutes(registry: Registry): readonly ApiRoute[] {
  return [
    {
      path: "/limits/rules",
      operations: {
        PUT: {
          summary: "Make or change rules of flow control",
          body: PutRules,
          answers: { 200: "The rules as they are now", 409: "A precondition does not hold; nothing was changed" },
          results: { 200: z.array(RuleShape) },
          handle: async (request) => {
            const body = await request.json(PutRules);
            const rules = await registry.putRules(body.map(changeOf));
            return json(200, rules.map(ruleView));
          },
        },
      },
    },
    {
      path: "/limits/rules/bulk-delete",
      operations: {
        POST: {
          summary: "Delete rules of flow control",
          body: DeleteRules,
          answers: { 200: "The patterns that were deleted", 409: "A rule has another version; nothing was deleted" },
          results: { 200: z.array(z.string()) },
          handle: async (request) => {
            const body = await request.json(DeleteRules);
            const deletions = body.map(({ pattern, expected_version }) => ({
              pattern,
              expectedVersion: expected_version ?? undefined,
            }));
            return json(200, await registry.deleteRules(deletions));
          },
        },
      },
    },
  ];
}

type PutRule = z.infer<typeof PutRules>[number];

function changeOf(rule: PutRule): RuleChange {
  return {
    pattern: rule.pattern,
    concurrency: rule.limits?.concurrency ?? undefined,
    rate: rateOf(rule.limits?.rate),
    weight: rule.weight,
    priority: rule.priority,
    description: rule.description ?? undefined,
    disabled: rule.disabled ?? false,
    precondition: preconditionOf(rule.precondition),
  };
}

/** Absent stays absent and null stays null: they mean different things. */
function rateOf(wire: z.infer<typeof Rate> | null | undefined): RuleRate | null | undefined {
  if (wire === undefined || wire === null) return wire;
  return { limit: wire.limit, periodMs: wire.per, burst: wire.burst ?? wire.limit };
}

function preconditionOf(wire: PutRule["precondition"]): RuleChange["precondition"] {
  switch (wire?.type) {
    case "matches":
      return { kind: "matches", version: wire.version };
    case "does_not_exist":
      return { kind: "doesNotExist" };
    default:
      return { kind: "none" };
  }
}

/** Undefined fields are omitted: a rule without our extensions has the form that other tools expect. */
function ruleView(rule: RuleRecord) {
  const { rate } = rule;
  return {
    pattern: rule.pattern,
    limits: {
      concurrency: rule.concurrency,
      rate: rate === undefined ? undefined : { limit: rate.limit, per: formatDuration(rate.periodMs), burst: rate.burst },
    },
    description: rule.description,
    disabled: rule.disabled,
    weight: rule.weight === RULE_WEIGHT_DEFAULT ? undefined : rule.weight,
    priority: rule.priority,
    version: rule.version,
    last_modified_millis_since_epoch: rule.lastModifiedMs,
  };
}
