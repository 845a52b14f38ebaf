/** The JSON of a response with the shape that the contract gives it; values of our own may be readonly. */
import type { z } from "zod";

export type ViewOf<Shape extends z.ZodType> = ReadonlyJson<z.input<Shape>>;

type ReadonlyJson<T> = T extends readonly (infer Item)[]
  ? readonly ReadonlyJson<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: ReadonlyJson<T[Name]> }
    : T;
