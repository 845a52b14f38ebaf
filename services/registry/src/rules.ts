/**
 * The rules of flow control are one document with one counter, so that a rule which was deleted and created again has another version
 * than before, and a client that holds the old version does not mistake one for the other (admin-api.md §6).
 */
import { present } from "@perdure/base";
import { RegistryRefusal, RULE_WEIGHT_DEFAULT, type RuleChange, type RuleRate, type RuleRecord } from "@perdure/metadata";
import { RULES_MAX } from "./limits.js";
import { putRuleBook } from "./persistence.js";
import type { RegistryState, StateChange } from "./state.js";

/** All or nothing. Returns the rules after the change, one for each change and in their order. */
export function decideRules(
  state: RegistryState,
  changes: readonly RuleChange[],
  nowMs: number,
): StateChange<readonly RuleRecord[]> {
  const book = state.ruleBook.record;
  const rules = new Map(book.rules.map((rule) => [rule.pattern, rule]));
  const nextVersion = book.version + 1;
  let isChanged = false;
  for (const change of changes) {
    const old = rules.get(change.pattern);
    checkPrecondition(change.pattern, change.precondition, old);
    // A pattern changed twice in one batch counts twice.
    const changed = ruleOf(change, old, Math.max(nextVersion, (old?.version ?? 0) + 1), nowMs);
    if (old !== undefined && isSame(old, changed)) continue;
    isChanged = true;
    rules.set(change.pattern, changed);
  }
  if (rules.size > RULES_MAX) throw new RegistryRefusal(422, undefined, `there can be at most ${RULES_MAX} rules`);
  const answer = changes.map(({ pattern }) => present(rules.get(pattern)));
  return isChanged ? { writes: [write(state, nextVersion, rules)], answer } : { writes: [], answer };
}

/** All or nothing. Returns the patterns that existed; a pattern without rule and without expected version is not an error. */
export function decideRuleDeletion(
  state: RegistryState,
  deletions: readonly { readonly pattern: string; readonly expectedVersion: number | undefined }[],
): StateChange<readonly string[]> {
  const book = state.ruleBook.record;
  const rules = new Map(book.rules.map((rule) => [rule.pattern, rule]));
  const removed: string[] = [];
  for (const { pattern, expectedVersion } of deletions) {
    const precondition =
      expectedVersion === undefined ? ({ kind: "none" } as const) : ({ kind: "matches", version: expectedVersion } as const);
    checkPrecondition(pattern, precondition, rules.get(pattern));
    if (rules.delete(pattern)) removed.push(pattern);
  }
  return { writes: removed.length === 0 ? [] : [write(state, book.version + 1, rules)], answer: removed };
}

function ruleOf(change: RuleChange, old: RuleRecord | undefined, version: number, nowMs: number): RuleRecord {
  return {
    pattern: change.pattern,
    concurrency: change.concurrency,
    rate: change.rate === undefined ? old?.rate : (change.rate ?? undefined),
    weight: (change.weight === undefined ? old?.weight : change.weight) ?? RULE_WEIGHT_DEFAULT,
    priority: change.priority === undefined ? old?.priority : (change.priority ?? undefined),
    description: change.description,
    disabled: change.disabled,
    version,
    lastModifiedMs: nowMs,
  };
}

function write(state: RegistryState, version: number, rules: ReadonlyMap<string, RuleRecord>) {
  return putRuleBook({ version, rules: [...rules.values()] }, state.ruleBook);
}

function checkPrecondition(pattern: string, precondition: RuleChange["precondition"], rule: RuleRecord | undefined): void {
  const isMet =
    precondition.kind === "none" ||
    (precondition.kind === "matches" ? rule?.version === precondition.version : rule === undefined);
  if (isMet) return;
  const expected = precondition.kind === "matches" ? `Matches(v${precondition.version})` : "DoesNotExist";
  const actual = rule === undefined ? "None" : `Some(v${rule.version})`;
  throw new RegistryRefusal(
    409,
    undefined,
    `rule precondition ${expected} for pattern ${pattern} failed (actual version: ${actual})`,
  );
}

function isSame(a: RuleRecord, b: RuleRecord): boolean {
  return (
    a.concurrency === b.concurrency &&
    isSameRate(a.rate, b.rate) &&
    a.weight === b.weight &&
    a.priority === b.priority &&
    a.description === b.description &&
    a.disabled === b.disabled
  );
}

function isSameRate(a: RuleRate | undefined, b: RuleRate | undefined): boolean {
  return a?.limit === b?.limit && a?.periodMs === b?.periodMs && a?.burst === b?.burst;
}
