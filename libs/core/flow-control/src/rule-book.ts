/**
 * Finds the rule of a scope or limit key, once for each scoped invocation, so it takes two, four or eight look-ups in a map, and none
 * where no rule has that many components. A book never changes; a changed rule makes a new one.
 *
 * For each level the most specific rule with that many components applies: a name before `*`, compared component by component from the
 * left.
 */
import type { FlowRule } from "./rule.js";

/** A scope, and up to two components of limit keys. */
const LEVELS_MAX = 3;
const WILD = "*";

export class RuleBook {
  static readonly EMPTY = new RuleBook([]);

  /** Rules by number of components - 1; undefined where there is none. */
  readonly #levels: (Map<string, FlowRule> | undefined)[] = [undefined, undefined, undefined];
  /** Whether a rule of that many components limits anything. */
  readonly #limiting: boolean[] = [false, false, false];

  /** Rules whose pattern has no or more than three components match nothing. */
  constructor(rules: readonly FlowRule[]) {
    for (const rule of rules) {
      const level = rule.pattern.split("/").length - 1;
      if (rule.disabled || level >= LEVELS_MAX) continue;
      const patterns = this.#levels[level] ?? new Map<string, FlowRule>();
      this.#levels[level] = patterns;
      patterns.set(rule.pattern, rule);
      if (isLimiting(rule)) this.#limiting[level] = true;
    }
  }

  get isEmpty(): boolean {
    return this.#levels.every((patterns) => patterns === undefined);
  }

  /** Returns the rule of a scope (no components), of its limit key's first component, or of both. */
  ruleFor(scope: string, l1: string | undefined, l2: string | undefined): FlowRule | undefined {
    if (l1 === undefined) {
      const patterns = this.#levels[0];
      return patterns === undefined ? undefined : (patterns.get(scope) ?? patterns.get(WILD));
    }
    if (l2 === undefined) {
      const patterns = this.#levels[1];
      if (patterns === undefined) return undefined;
      return (
        patterns.get(`${scope}/${l1}`) ?? patterns.get(`${scope}/*`) ?? patterns.get(`*/${l1}`) ?? patterns.get(`${WILD}/${WILD}`)
      );
    }
    const patterns = this.#levels[2];
    if (patterns === undefined) return undefined;
    for (const a of [scope, WILD]) {
      for (const b of [l1, WILD]) {
        const rule = patterns.get(`${a}/${b}/${l2}`) ?? patterns.get(`${a}/${b}/${WILD}`);
        if (rule !== undefined) return rule;
      }
    }
    return undefined;
  }

  /** Whether any level of an invocation is limited, in how many run at once or in how often one starts. */
  limits(scope: string, limitKey: string | undefined): boolean {
    if (this.#limiting[0] && isLimiting(this.ruleFor(scope, undefined, undefined))) return true;
    if (limitKey === undefined || !(this.#limiting[1] || this.#limiting[2])) return false;
    const { l1, l2 } = splitLimitKey(limitKey);
    if (this.#limiting[1] && isLimiting(this.ruleFor(scope, l1, undefined))) return true;
    return l2 !== undefined && this.#limiting[2] === true && isLimiting(this.ruleFor(scope, l1, l2));
  }
}

function isLimiting(rule: FlowRule | undefined): boolean {
  return rule !== undefined && (rule.concurrency !== undefined || rule.rate !== undefined);
}

/** Splits `a` or `a/b`. */
export function splitLimitKey(limitKey: string): { readonly l1: string; readonly l2: string | undefined } {
  const slash = limitKey.indexOf("/");
  return slash < 0 ? { l1: limitKey, l2: undefined } : { l1: limitKey.slice(0, slash), l2: limitKey.slice(slash + 1) };
}
