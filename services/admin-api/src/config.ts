/** Every setting of the management API, with its sentence, unit and default. Names are the reference's where it has them. */
import { formatByteSize, formatDuration } from "@perdure/base";
import { advertisedAddress, bindAddress, bindPort, byteSize, duration, group } from "@perdure/role";
import { SQL_ENGINE_DEFAULTS, type SqlEngineOptions } from "@perdure/sql";
import type { z } from "zod";

export const adminSettings = group("The management API.", {
  bindAddress: bindAddress(),
  bindPort: bindPort(9070),
  advertisedAddress: advertisedAddress("How people and tools reach the API, for display; http://localhost:<port>/ when not set."),
  queryEngine: group("SQL over invocations and services.", {
    memorySize: byteSize(formatByteSize(SQL_ENGINE_DEFAULTS.engineMemoryBytesMax), {
      sentence: "Memory for sorts, joins and results of all queries together (size).",
    }),
    timeout: duration(formatDuration(SQL_ENGINE_DEFAULTS.statementTimeoutMs), {
      sentence: "A query that takes longer is stopped (duration).",
      minMs: 1,
    }),
  }),
});

export type AdminSettings = z.output<typeof adminSettings>;

export function sqlOptionsOf({ queryEngine }: AdminSettings): Partial<SqlEngineOptions> {
  return { engineMemoryBytesMax: queryEngine.memorySize, statementTimeoutMs: queryEngine.timeout };
}
