/** Shapes that fields of several resources share. */
import { z } from "zod";

/** Friendly, e.g. `1d 2h`. */
export const DurationShape = z.string().describe("A duration such as `1d 2h` or `500ms`");
/** RFC 3339 with nanoseconds, UTC. */
export const TimeShape = z.string().describe("A moment in UTC, RFC 3339");
export const TextMapShape = z.record(z.string(), z.string());

/** A list, and the cursor of the next page when the request was for a page. */
export function listShape<Field extends string, Item extends z.ZodType>(field: Field, item: Item, id: string) {
  const items = { [field]: z.array(item) } as Record<Field, z.ZodArray<Item>>;
  return z.strictObject({ ...items, next_cursor: z.string().nullable().optional() }).meta({ id });
}
