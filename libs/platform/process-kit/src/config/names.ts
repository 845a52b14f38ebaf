/**
 * Names of settings: one in code (`inactivityTimeout`), one in files (`inactivity-timeout`), and users write both and variants. Dashes,
 * underscores and case never matter; an unknown name is reported with the nearest existing one.
 */
import { SUGGESTION_DISTANCE_MAX } from "./limits.js";

/** The folded form, equal for all spellings of one name. */
export function foldName(name: string): string {
  return name.replace(/[-_]/g, "").toLowerCase();
}

/** `inactivityTimeout` → `inactivity-timeout`. */
export function kebabName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `["worker", "cleanupInterval"]` → `worker.cleanup-interval`. */
export function dottedName(path: readonly string[]): string {
  return path.map(kebabName).join(".");
}

/**
 * The candidate that is most similar to `name`, or undefined when none is similar; of equals the first. Compares whole names and their last
 * parts.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const whole = editDistance(comparable(name), comparable(candidate));
    const last = editDistance(comparable(lastPart(name)), comparable(lastPart(candidate)));
    // The right word in the wrong table is a near miss too, but a typo in the right table is nearer.
    const score = Math.min(whole, last + 1.5);
    const allowed = Math.max(2, Math.min(SUGGESTION_DISTANCE_MAX, Math.floor(lastPart(name).length / 3)));
    if (score < bestScore && score <= allowed) {
      best = candidate;
      bestScore = score;
    }
  }
  return best;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function comparable(name: string): string {
  return name.toLowerCase().replaceAll("_", "-");
}

/** Levenshtein distance with two rows; names are short. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(swap, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
