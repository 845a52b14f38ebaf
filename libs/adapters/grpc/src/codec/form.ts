/**
 * Converts between a type of the ports and its protobuf message, which have the same fields under the same names. A form defines once per
 * field how the field is written and read, so the two directions cannot differ, and the compiler reports a field that has no form.
 */
import { create, type DescMessage, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { named, oneOf, required } from "./checks.js";

/** `T` is the type of the port, `M` that of the field in the message. `from` throws OPS0003 for values that `T` does not have. */
export interface FieldCodec<T, M> {
  to(value: T): M;
  from(message: M): T;
}

type FieldCodecs<T, M> = { readonly [Name in keyof T]-?: Name extends keyof M ? FieldCodec<T[Name], M[Name]> : never };

/** A field with the same type in the port and in the message. */
export function same<T>(): FieldCodec<T, T> {
  return { to: (value) => value, from: (value) => value };
}

export const text: FieldCodec<string, string> = same();
export const flag: FieldCodec<boolean, boolean> = same();
/** `uint32` and `double`. */
export const number: FieldCodec<number, number> = same();
/** `uint64` for whole numbers that are exact as a number: up to 2^53. */
export const whole: FieldCodec<number, bigint> = { to: BigInt, from: Number };
export const numbers: FieldCodec<readonly number[], number[]> = { to: (values) => [...values], from: (values) => values };
export const texts: FieldCodec<Readonly<Record<string, string>>, Record<string, string>> = {
  to: (value) => ({ ...value }),
  from: (value) => value,
};

/** Any JSON as text; absent for undefined. */
export const json: FieldCodec<unknown, string | undefined> = {
  to: (value) => (value === undefined ? undefined : JSON.stringify(value)),
  from: (value) => (value === undefined ? undefined : JSON.parse(value)),
};

export function optional<T, M>(form: FieldCodec<T, M>): FieldCodec<T | undefined, M | undefined> {
  return {
    to: (value) => (value === undefined ? undefined : form.to(value)),
    from: (value) => (value === undefined ? undefined : form.from(value)),
  };
}

/** A field that has a message as its type and must be there; `what` is for the error: "the rate of a rule". */
export function nested<T, M>(form: FieldCodec<T, M>, what: string): FieldCodec<T, M | undefined> {
  return { to: (value) => form.to(value), from: (value) => form.from(required(value, what)) };
}

export function list<T, M>(form: FieldCodec<T, M>): FieldCodec<readonly T[], M[]> {
  return { to: (values) => values.map((value) => form.to(value)), from: (values) => values.map((value) => form.from(value)) };
}

export function byName<T, M>(form: FieldCodec<T, M>): FieldCodec<ReadonlyMap<string, T>, Record<string, M>> {
  return {
    to: (values) => Object.fromEntries([...values].map(([name, value]) => [name, form.to(value)])),
    from: (values) => new Map(Object.entries(values).map(([name, value]) => [name, form.from(value)])),
  };
}

/** An enumeration with named values. `what` is for the error: "the kind of a service". */
export function enumeration<Name extends string, Value extends number>(
  values: Readonly<Record<Name, Value>>,
  what: string,
): FieldCodec<Name, Value> {
  return { to: (name) => values[name], from: (value) => named(values, value, what) };
}

/** An enumeration that is unspecified for undefined. */
export function optionalEnumeration<Name extends string, Value extends number>(
  values: Readonly<Record<Name, Value>>,
  unspecified: Value,
  what: string,
): FieldCodec<Name | undefined, Value> {
  const form = enumeration(values, what);
  return {
    to: (name) => (name === undefined ? unspecified : form.to(name)),
    from: (value) => (value === unspecified ? undefined : form.from(value)),
  };
}

/** A text that is one of these. */
export function choice<T extends string>(values: readonly T[], what: string): FieldCodec<T, string> {
  return { to: (value) => value, from: (value) => oneOf(values, value, what) };
}

/** A text that `check` converts to the type of the port, or refuses. */
export function checked<T extends string>(check: (text: string) => T): FieldCodec<T, string> {
  return { to: (value) => value, from: check };
}

export function message<T extends object, Schema extends DescMessage>(
  schema: Schema,
  fields: FieldCodecs<T, MessageShape<Schema>>,
): FieldCodec<T, MessageShape<Schema>> {
  const forms = Object.entries(fields) as [string, FieldCodec<unknown, unknown>][];
  return {
    to(value) {
      const init: Record<string, unknown> = {};
      for (const [name, form] of forms) {
        const field = form.to((value as Readonly<Record<string, unknown>>)[name]);
        if (field !== undefined) init[name] = field;
      }
      return create(schema, init as MessageInitShape<Schema>);
    },
    from(from) {
      const value: Record<string, unknown> = {};
      for (const [name, form] of forms) value[name] = form.from(Reflect.get(from, name));
      return value as T;
    },
  };
}
