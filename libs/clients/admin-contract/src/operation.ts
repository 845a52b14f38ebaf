/** Operations as data: method, path, query parameters and the shape of each successful response. */
import type { z } from "zod";
import { PAGE_ITEMS_MAX } from "./limits.js";

export type OperationMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Agreement of server and clients. The body of a request is in `requests.ts` beside the operation, so that clients need not load it. */
export interface AdminOperation {
  readonly method: OperationMethod;
  /** Parameters in braces: `/services/{service}`; with a star one takes the rest of the path: `/{*serde}`. */
  readonly path: string;
  /** Parameter of the query → description. */
  readonly query?: Readonly<Record<string, string>>;
  /** Status → shape of the JSON body; a successful status without one has an empty body. */
  readonly results?: Readonly<Record<number, z.ZodType>>;
}

/** Names of the parameters in a path: `/a/{b}/{*c}` → `"b" | "c"`. */
export type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `*${infer Star}` ? Star : Name) | PathParameter<Rest>
  : never;

/** Parameters of a request for one page of a list. */
export const PAGE_QUERY = {
  limit: `Maximum number of items, up to ${PAGE_ITEMS_MAX}; everything when neither this nor \`cursor\` is given`,
  cursor: "Where to continue: `next_cursor` of the previous response",
} as const;
