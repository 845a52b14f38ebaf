/**
 * Why: parts of the console are loaded when they are first wanted. One that is here already is shown at once; what comes out of a
 * fallback React holds back for a third of a second, so it is better to have waited a moment before.
 */
import { type ComponentType, lazy } from "react";

export interface LazyPart {
  /** What can be shown now: the part itself, or something that waits for it. */
  readonly shown: () => ComponentType;
  /** Resolves when it is here, or can not be had: whoever shows it then says so. */
  readonly preload: () => Promise<void>;
  readonly isHere: () => boolean;
}

export function partOf(load: () => Promise<{ readonly default: ComponentType }>): LazyPart {
  let here: ComponentType | undefined;
  const later = lazy(async () => {
    const part = await load();
    here = part.default;
    return part;
  });
  const preload = async () => {
    try {
      here ??= (await load()).default;
    } catch {
      // `later` fails the same way, where it can be shown.
    }
  };
  return { shown: () => here ?? later, preload, isHere: () => here !== undefined };
}

/** Whether a path such as `/services/Greeter` is of `/services/:service`. */
export function isOfPattern(pattern: string, path: string): boolean {
  const expected = pattern.split("/");
  const given = path.split("/");
  return expected.length === given.length && expected.every((part, i) => part.startsWith(":") || part === given[i]);
}
