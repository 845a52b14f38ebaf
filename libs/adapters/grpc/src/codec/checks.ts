/** Checks values from another process where they are converted to the types of this one. Every check throws OPS0003. */
import { PerdureError } from "@perdure/base";

export function required<T>(value: T | undefined, what: string): T {
  return value ?? refuse(what, value);
}

export function oneOf<T extends string>(values: readonly T[], text: string, what: string): T {
  return values.find((value) => value === text) ?? refuse(what, text);
}

export function named<Name extends string>(values: Readonly<Record<Name, number>>, value: number, what: string): Name {
  for (const name in values) if (values[name] === value) return name;
  return refuse(what, value);
}

export function refuse(what: string, value: unknown): never {
  throw new PerdureError("OPS0003", `${what} in a message between processes is missing or unknown: ${value}`);
}

/** `{ [name]: value }`, or nothing when there is no value: fields that are absent stay absent. */
export function given<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: Value };
}

/** `BigInt` of a number that may be absent. */
export function bigOf(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

/** A 64-bit number of a message as a JavaScript number; exact up to 2^53. */
export function numberOf(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}
