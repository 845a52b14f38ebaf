/** Shapes of responses about the server itself. */
import { z } from "zod";

export const VersionShape = z
  .strictObject({
    version: z.string().describe("The release of the reference system whose interface this is"),
    min_admin_api_version: z.int(),
    max_admin_api_version: z.int(),
    ingress_endpoint: z.string().nullable(),
    features: z.record(z.string(), z.boolean()),
  })
  .meta({ id: "VersionInformation" });

export const ClusterHealthShape = z
  .strictObject({
    cluster_name: z.string(),
    metadata_cluster_health: z.strictObject({ members: z.array(z.int()) }),
  })
  .meta({ id: "ClusterHealthResponse" });

/** Rows of a statement; a null column is absent from its row. Times are RFC 3339, bytes hexadecimal digits. */
export const RowsShape = z.strictObject({ rows: z.array(z.record(z.string(), z.unknown())) });

/** Totals of a runtime since its data was created, for the operator of its environment. */
export const UsageShape = z.strictObject({
  source: z.string().describe("Id of the data: totals of another source begin at zero"),
  actions: z.int().describe("Durable starts of invocations and steps of journals"),
  storedBytes: z.number().describe("Approximate bytes on disk"),
});

export const ConsoleDocumentShape = z.strictObject({
  version: z.int().describe("0 when nothing is stored"),
  value: z.string().nullable().describe("As the console stored it; null when nothing is stored"),
});
