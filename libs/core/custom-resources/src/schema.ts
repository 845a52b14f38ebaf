/**
 * One source for the TypeScript types, the checks of the API server and the texts of `kubectl explain`. Schemas are zod's. Rules that a
 * shape cannot express are CEL expressions, which only the API server evaluates. It estimates their cost from the bounds of strings, lists
 * and maps, so each of these has a bound.
 */
import { z } from "zod";

/** A rule in the Common Expression Language: `self` is the value, `oldSelf` what it was; rules with `oldSelf` run on updates only. */
export interface ValidationRule {
  readonly rule: string;
  readonly message: string;
  /** Field within the value that the message is about. */
  readonly fieldPath?: string;
}

const RULES = "x-kubernetes-validations";
const PRESERVE = "x-kubernetes-preserve-unknown-fields";
const LIST_TYPE = "x-kubernetes-list-type";
const LIST_KEYS = "x-kubernetes-list-map-keys";

export function withRules<S extends z.ZodType>(schema: S, ...rules: readonly ValidationRule[]): S {
  return schema.meta({ [RULES]: [...rulesOf(schema), ...rules] }) as S;
}

function rulesOf(schema: z.ZodType): readonly ValidationRule[] {
  return (schema.meta()?.[RULES] as readonly ValidationRule[] | undefined) ?? [];
}

/** May be set once and never changes; for fields that are always there. Optional ones need a rule of their parent. */
export const immutable = (what: string): ValidationRule => ({ rule: "self == oldSelf", message: `${what} cannot be changed` });

/** Rule of a parent object: an optional field never changes once it is set. */
export function fixedOnceSet(field: string): ValidationRule {
  return {
    rule: `!has(oldSelf.${field}) || (has(self.${field}) && self.${field} == oldSelf.${field})`,
    message: `${field} cannot be changed once it is set`,
    fieldPath: `.${field}`,
  };
}

// ── texts ────────────────────────────────────────────────────────────────────────────────────────

export const text = (charsMax: number): z.ZodString => z.string().max(charsMax);
export const name = (charsMax = 63): z.ZodString => text(charsMax).regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);

/** An amount as Kubernetes writes it (`250m`, `10Gi`); bounded so that comparing is cheap. */
export const quantity = (): z.ZodString =>
  withRules(text(20).min(1), { rule: "isQuantity(self)", message: "must be a quantity like 500m or 10Gi" });

const DAY_S = 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: DAY_S };

const FACTOR = Object.entries(UNIT_SECONDS)
  .filter(([unit]) => unit !== "s")
  .reduceRight((rest, [unit, seconds]) => `self.endsWith('${unit}') ? ${seconds} : ${rest}`, "1");

/** CEL: the seconds of a duration. */
export const SECONDS_OF_SELF = `int(self.substring(0, size(self) - 1)) * (${FACTOR})`;

/** `90s`, `30m`, `24h`, `7d`: at most `daysMax`. */
export const duration = (daysMax: number): z.ZodString =>
  withRules(text(8).regex(/^[0-9]{1,7}[smhd]$/), {
    rule: `${SECONDS_OF_SELF} <= ${daysMax * DAY_S}`,
    message: `must not be longer than ${daysMax} days`,
  });

/** Seconds of a text that `duration` accepts. */
export function secondsOf(duration: string): number {
  const seconds = UNIT_SECONDS[duration.slice(-1)];
  if (seconds === undefined) throw new RangeError(`'${duration}' is not a duration`);
  return Number(duration.slice(0, -1)) * seconds;
}

export const environmentId = (): z.ZodString => text(44).regex(/^env_[a-z0-9]{8,40}$/);

/** Dots name private regions; no label is empty. */
export const region = (): z.ZodString => text(120).regex(/^[a-z][a-z0-9-]{1,30}(\.[a-z0-9-]{1,30})*$/);

// ── lists and maps ───────────────────────────────────────────────────────────────────────────────

export const list = <S extends z.ZodType>(item: S, itemsMax: number): z.ZodArray<S> => z.array(item).max(itemsMax);

/** A list whose items are identified by the field `key`, so that several writers can own items of it. */
export const listBy = <S extends z.ZodType>(key: string, item: S, itemsMax: number): z.ZodArray<S> =>
  list(item, itemsMax).meta({ [LIST_TYPE]: "map", [LIST_KEYS]: [key] });

export const map = (entriesMax: number, valueCharsMax = 253): z.ZodRecord<z.ZodString, z.ZodString> =>
  z.record(z.string(), text(valueCharsMax)).meta({ maxProperties: entriesMax });

/** Any object; Kubernetes checks it where the operator applies it. */
export const passThrough = (): z.ZodObject<Record<never, never>, z.core.$loose> => z.looseObject({}).meta({ [PRESERVE]: true });

export const secretRef = () => z.strictObject({ name: name(253), key: text(253).regex(/^[-._a-zA-Z0-9]+$/) });

export const labelSelector = () =>
  z.strictObject({
    matchLabels: map(32, 63).optional(),
    matchExpressions: list(
      z.strictObject({
        key: text(316),
        operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
        values: list(text(63), 32).optional(),
      }),
      16,
    ).optional(),
  });

// ── for the API server ───────────────────────────────────────────────────────────────────────────

/** OpenAPI v3 schema in the structural form that a CustomResourceDefinition requires. */
export type StructuralSchema = Readonly<Record<string, unknown>>;

/** Schema of the input, before defaults: fields with a default are not required. */
export function structural(schema: z.ZodType): StructuralSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "throw",
    reused: "inline",
    override({ jsonSchema }) {
      const own = jsonSchema as Record<string, unknown>;
      // The API server itself prunes or refuses undeclared fields, and does not accept these keywords.
      if (own[PRESERVE] === true) delete own["properties"];
      if (own["additionalProperties"] === false || own[PRESERVE] === true) delete own["additionalProperties"];
      if (Array.isArray(own["required"]) && own["required"].length === 0) delete own["required"];
    },
  }) as Record<string, unknown>;
  return rest;
}
