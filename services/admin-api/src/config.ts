/** Every setting of the management API, with its sentence, unit and default. Names are the reference's where it has them. */
import { formatByteSize, formatDuration } from "@perdure/base";
import { memoryOptions, SQL_ENGINE_DEFAULTS, type SqlEngineOptions } from "@perdure/introspection";
import {
  advertisedAddress,
  bindPort,
  boolean,
  byteSize,
  custom,
  duration,
  group,
  loopbackAddress,
  tomlValue,
  traceUrl,
} from "@perdure/process-kit";
import { z } from "zod";

/** Host names as in a browser's address, with or without a port. */
const hostList = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))])
  .pipe(z.array(z.string().regex(/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:\d{1,5})?$/, "must be a host name, with or without a port")))
  .prefault([]);

export const adminSettingsShape = {
  bindAddress: loopbackAddress(),
  bindPort: bindPort(9070),
  advertisedAddress: advertisedAddress("Public address of the API, for display; http://localhost:<port>/ when not set."),
  traceUrl: traceUrl("URL of a trace, with '{traceId}' in it; the console links to it from each invocation."),
  disableWebUi: boolean(false, { sentence: "Whether there is no console at /ui/." }),
  allowedHosts: custom(hostList, {
    sentence:
      "Host names, beside localhost, addresses and the advertised one, by which browsers may reach the API: 'perdure.corp.example'.",
    form: "scalar",
    show: tomlValue,
  }),
  queryEngine: group("SQL over invocations and services.", {
    memorySize: byteSize(formatByteSize(SQL_ENGINE_DEFAULTS.engineMemoryBytesMax), {
      sentence: "Memory for sorts, joins and results of a query (size); two run at once, each in a process of its own.",
    }),
    timeout: duration(formatDuration(SQL_ENGINE_DEFAULTS.statementTimeoutMs), {
      sentence: "A query that takes longer is stopped (duration).",
      minMs: 1,
    }),
  }),
};

export const adminSettings = group("The management API.", adminSettingsShape);

export type AdminSettings = z.output<typeof adminSettings>;

export function sqlOptionsOf({ queryEngine }: AdminSettings): Partial<SqlEngineOptions> {
  return { ...memoryOptions(queryEngine.memorySize), statementTimeoutMs: queryEngine.timeout };
}
