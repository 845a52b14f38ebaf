/** Reads values that a process of v0.1 sent as JSON. */
import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { PerdureError } from "@perdure/base";
import type { FieldCodec } from "../codec/form.js";

/**
 * Converts a value by writing it as a message of this release and reading that message: its bytes have the types of the fields, and its
 * codec checks ids, enumerations and required messages. Throws OPS0003 when the value does not fit; `what` is for the error.
 */
export function checkedV01<T, Schema extends DescMessage>(
  schema: Schema,
  codec: FieldCodec<T, MessageShape<Schema>>,
  value: unknown,
  what: string,
): T {
  try {
    // Nothing of the unchecked value is returned: only what was read from the bytes.
    return codec.from(fromBinary(schema, toBinary(schema, codec.to(value as T))));
  } catch (cause) {
    throw new PerdureError("OPS0003", `${what} of a process of v0.1 is invalid`, { cause });
  }
}
