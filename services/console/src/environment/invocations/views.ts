/** Filters that users saved have names and are kept for each environment. Pure. */
import { z } from "zod";
import { storedOr } from "../stored.js";
import { VIEWS_MAX } from "./limits.js";

const viewsShape = z.array(z.object({ name: z.string(), query: z.string() }));
/** `query`: of the address of the list, with filter and order. */
export type View = z.infer<typeof viewsShape>[number];

const NO_VIEWS: readonly View[] = [];

export function viewsOf(stored: string | null): readonly View[] {
  return storedOr<readonly View[]>(viewsShape, stored, NO_VIEWS);
}

/** Sorted by name; it takes the place of one of the same name. */
export function withView(views: readonly View[], view: View): readonly View[] {
  return [...withoutView(views, view.name), view].sort((a, b) => a.name.localeCompare(b.name)).slice(0, VIEWS_MAX);
}

export function withoutView(views: readonly View[], name: string): readonly View[] {
  return views.filter((each) => each.name !== name);
}

/** Address of the list with this view; other parameters of a stored text are never used. */
export function hrefOfView({ query }: View): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? "/invocations" : `/invocations?${text}`;
}
