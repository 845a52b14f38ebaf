/**
 * Data that a user keeps in this browser (queries; views and acknowledged failures where the server stores none), for each environment
 * separately. Stored data may come from another version, so it is parsed with care.
 */
import { useCallback, useState } from "react";
import type { z } from "zod";
import { useEnvironment } from "./environment.js";

/** `none` when nothing valid is stored. */
export function storedOr<T>(shape: z.ZodType<T>, stored: string | null, none: T): T {
  if (stored === null) return none;
  try {
    return shape.safeParse(JSON.parse(stored)).data ?? none;
  } catch (cause) {
    if (cause instanceof SyntaxError) return none;
    throw cause;
  }
}

/** `name`: of the data, such as `sql`. `read`: a function that stays the same. */
export function useStored<T>(name: string, read: (stored: string | null) => T): readonly [T, (change: (value: T) => T) => void] {
  const place = `perdure.${name}.${useEnvironment().key}`;
  const [value, setValue] = useState(() => read(localStorage.getItem(place)));
  const change = useCallback(
    (next: (value: T) => T) => {
      // Read again: another window may have written.
      const changed = next(read(localStorage.getItem(place)));
      setValue(changed);
      try {
        localStorage.setItem(place, JSON.stringify(changed));
      } catch (cause) {
        // The browser's storage is full: the data is kept as long as the page is open.
        if (!(cause instanceof DOMException)) throw cause;
      }
    },
    [place, read],
  );
  return [value, change];
}
