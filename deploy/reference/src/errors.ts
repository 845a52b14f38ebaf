/** The page of error codes: each with its statuses and the address of its page. */
import { catalogue } from "@perdure/base";
import { type Page, page, table } from "./markdown.js";

const GROUPS: readonly (readonly [string, string])[] = [
  ["META", "Registration and metadata"],
  ["RT", "Invocations, and the start of a server"],
  ["ING", "Ingress"],
  ["STO", "Storage"],
  ["TEN", "Plans of a platform"],
  ["OPS", "Operation and roles"],
];

export function errorsPage(): Page {
  const blocks = GROUPS.flatMap(([prefix, title]) => {
    const rows = Object.entries(catalogue)
      .filter(([name]) => name.replace(/\d+$/, "") === prefix)
      .map(([name, { title: what, http, grpc }]) => [`[${name}](../errors/${name}.md)`, what, String(http), `\`${grpc}\``]);
    return [`## ${title}`, table(["Code", "Meaning", "HTTP", "gRPC"], rows)];
  });
  return page("errors.md", "Errors", [
    "Each code has a page that says what happened, why, and what to do; the address of a page is `errors/<code>` below the address of this documentation. A published code keeps its meaning. The statuses are those that the edges answer with when they answer with this code.",
    ...blocks,
  ]);
}
