/**
 * Parts of the console are loaded on first use. A loaded part is shown at once; React delays the replacement of a fallback by a third of a
 * second, so it is better to wait a moment before.
 */
import { type ComponentType, lazy } from "react";

export interface LazyPart {
  /** Returns the component that can be rendered now: the part itself, or one that waits for it. */
  readonly shown: () => ComponentType;
  /** Resolves when it is loaded, or cannot be loaded: its display shows the error then. */
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
      // `later` fails the same way when it is rendered.
    }
  };
  return { shown: () => here ?? later, preload, isHere: () => here !== undefined };
}

/** Whether a path such as `/services/Greeter` matches `/services/:service`. */
export function isOfPattern(pattern: string, path: string): boolean {
  const expected = pattern.split("/");
  const given = path.split("/");
  return expected.length === given.length && expected.every((part, i) => part.startsWith(":") || part === given[i]);
}
