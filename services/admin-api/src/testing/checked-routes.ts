/**
 * Checks every answer of every test against the OpenAPI document: its status is declared, and its body has the shape that is declared for
 * the status, field by field.
 */

import type { OperationMethod } from "@perdure/admin-contract";
import type { ApiAnswer } from "../http/answer.js";
import { answerOfError } from "../http/errors.js";
import type { ApiRoute, RouteOperation } from "../http/route.js";

/** Every route can answer with these. */
const COMMON_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422, 429, 500, 503]);

/** An answer that does not match becomes an error of the test's server, with the difference in the message. */
export function checkedRoutes(routes: readonly ApiRoute[], onBreach: (problem: string) => void): readonly ApiRoute[] {
  return routes.map((route) => ({
    ...route,
    operations: Object.fromEntries(
      (Object.entries(route.operations) as [OperationMethod, RouteOperation][]).map(([method, operation]) => {
        const name = `${method} ${route.path}`;
        const check = (answer: ApiAnswer): void => {
          const problem = problemOf(operation, answer, route.isInternal === true);
          if (problem !== undefined) onBreach(`${name}: ${problem}`);
        };
        return [method, checkedOperation(operation, check)];
      }),
    ),
  }));
}

function checkedOperation(operation: RouteOperation, check: (answer: ApiAnswer) => void): RouteOperation {
  return {
    ...operation,
    handle: async (request) => {
      try {
        const answer = await operation.handle(request);
        check(answer);
        return answer;
      } catch (cause) {
        check(answerOfError(cause).answer);
        throw cause;
      }
    },
  };
}

function problemOf(operation: RouteOperation, { status, body }: ApiAnswer, isInternal: boolean): string | undefined {
  const isDeclared = operation.answers[status] !== undefined || (status >= 400 && COMMON_STATUSES.has(status));
  if (!isDeclared) return `status ${status} is not declared`;
  if (status >= 400) return undefined;
  const shape = operation.results?.[status];
  if (body.kind === "empty") return shape === undefined ? undefined : `status ${status} has no body, but one is declared`;
  if (shape === undefined) {
    const isAnnounced = isInternal || operation.resultTypes?.includes(body.contentType) === true;
    return isAnnounced ? undefined : `status ${status} has a body (${body.contentType}) that is not declared`;
  }
  if (body.kind === "stream") return undefined;
  const parsed = shape.safeParse(JSON.parse(new TextDecoder().decode(body.bytes)));
  return parsed.success ? undefined : `the body of ${status} is not as declared: ${parsed.error.message}`;
}
