/**
 * Overloads of text functions for bytes. The reference accepts bytes where a function needs a text, DuckDB does not, and a macro with
 * types fails for aggregates.
 */
import { isUtf8 } from "node:buffer";
import { BIGINT, BLOB, DuckDBBlobVector, type DuckDBConnection, DuckDBScalarFunction } from "@duckdb/node-api";
import { invariant } from "@perdure/base";

export function registerByteFunctions(connection: DuckDBConnection): void {
  for (const name of ["length", "char_length", "character_length"]) register(connection, name, characterCount);
  register(connection, "strlen", (bytes) => bytes.length); // Called by the macro `octet_length`.
}

/** Number of characters when the bytes are UTF-8, as in the reference; otherwise number of bytes, where the reference fails. */
function characterCount(bytes: Uint8Array): number {
  if (!isUtf8(bytes)) return bytes.length;
  let count = 0;
  for (const byte of bytes) if ((byte & 0xc0) !== 0x80) count++;
  return count;
}

function register(connection: DuckDBConnection, name: string, measure: (bytes: Uint8Array) => number): void {
  connection.registerScalarFunction(
    DuckDBScalarFunction.create({
      name,
      parameterTypes: [BLOB],
      returnType: BIGINT,
      mainFunction(_info, input, output) {
        const values = input.getColumnVector(0);
        invariant(values instanceof DuckDBBlobVector, "the vector of a parameter has the parameter's type");
        for (let row = 0; row < input.rowCount; row++) {
          const value = values.getItem(row);
          output.setItem(row, value === null ? null : BigInt(measure(value.bytes)));
        }
        output.flush();
      },
    }),
  );
}
