/** Why: who runs environments asks each runtime what was done there (`GET /internal/usage`). Totals, so that asking twice counts nothing twice. */
import { json } from "../http/answer.js";
import type { ApiRoute } from "../http/route.js";
import type { AdminPorts } from "../ports.js";

/** Nothing is served where nobody counts. */
export function usageRoutes({ usage }: Pick<AdminPorts, "usage">): readonly ApiRoute[] {
  if (usage === undefined) return [];
  return [
    {
      path: "/internal/usage",
      isInternal: true,
      operations: {
        GET: {
          summary: "What was done and is stored",
          answers: { 200: "Totals since the data was made" },
          handle: async () => {
            const { source, actions, storedBytes } = await usage();
            return json(200, { source, actions, storedBytes });
          },
        },
      },
    },
  ];
}
