/**
 * Shapes for clients, made from those of the server: a server may be newer than its clients, so fields without a shape pass, and so do
 * values that were added to an enumeration. Everything else is as strict as the server's shape.
 */
import { z } from "zod";

/** The tolerant form of a shape. Fields without a shape are in the value, but not in its type. */
type TolerantShape<S extends z.core.SomeType> =
  S extends z.ZodObject<infer Fields, infer Config>
    ? z.ZodObject<{ [Name in keyof Fields]: TolerantShape<Fields[Name]> }, Config>
    : S extends z.ZodEnum
      ? z.ZodType<z.output<S> | (string & {}), string>
      : S extends z.ZodArray<infer Item>
        ? z.ZodArray<TolerantShape<Item>>
        : S extends z.ZodOptional<infer Inner>
          ? z.ZodOptional<TolerantShape<Inner>>
          : S extends z.ZodNullable<infer Inner>
            ? z.ZodNullable<TolerantShape<Inner>>
            : S extends z.ZodRecord<infer Key, infer Value>
              ? z.ZodRecord<Key, TolerantShape<Value>>
              : S extends z.ZodUnion<infer Options>
                ? z.ZodUnion<{ [Index in keyof Options]: TolerantShape<Options[Index]> }>
                : S;

/** Type that a client reads where the server sends a value of the shape. */
export type Tolerant<S extends z.ZodType> = z.output<TolerantShape<S>>;

const tolerantShapes = new WeakMap<z.core.$ZodType, z.core.$ZodType>();

/** The tolerant form of a response's shape, at every depth; made once for each shape. Descriptions and names of schemas are left out. */
export function tolerant<S extends z.ZodType>(shape: S): TolerantShape<S> {
  return relaxed(shape) as TolerantShape<S>;
}

function relaxed(shape: z.core.$ZodType): z.core.$ZodType {
  const existing = tolerantShapes.get(shape);
  if (existing !== undefined) return existing;
  const made = relax(shape);
  tolerantShapes.set(shape, made);
  return made;
}

function relax(shape: z.core.$ZodType): z.core.$ZodType {
  if (shape instanceof z.ZodObject) {
    const fields = Object.entries(shape.shape as z.core.$ZodShape).map(([name, field]) => [name, relaxed(field)] as const);
    return z.looseObject(Object.fromEntries(fields));
  }
  if (shape instanceof z.ZodEnum) return z.string();
  if (shape instanceof z.ZodArray) return z.array(relaxed(shape.element));
  if (shape instanceof z.ZodOptional) return z.optional(relaxed(shape.unwrap()));
  if (shape instanceof z.ZodNullable) return z.nullable(relaxed(shape.unwrap()));
  if (shape instanceof z.ZodRecord) return z.record(shape.keyType as z.core.$ZodRecordKey, relaxed(shape.valueType));
  if (shape instanceof z.ZodUnion) return z.union(shape.options.map(relaxed));
  return shape;
}
