/**
 * `GET /internal/usage`: usage of a runtime, for the operator of its environment. Values are totals, so a repeated request counts nothing
 * twice.
 */
import { getUsage } from "@perdure/admin-contract";
import { json } from "../http/answer.js";
import { type ApiRoute, route } from "../http/route.js";
import type { AdminPorts } from "../ports.js";

/** Returns the route of usage; none where usage is not counted. */
export function usageRoutes({ usage }: Pick<AdminPorts, "usage">): readonly ApiRoute[] {
  if (usage === undefined) return [];
  return [
    route(getUsage, {
      isInternal: true,
      summary: "What was done and is stored",
      answers: { 200: "Totals since the data was made" },
      handle: async () => {
        const { source, actions, storedBytes } = await usage();
        return json(200, { source, actions, storedBytes });
      },
    }),
  ];
}
