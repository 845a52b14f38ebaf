/**
 * `/console-documents/{document}`: what users of the console keep for all users of the environment. The server stores the text and knows
 * nothing of its contents.
 */
import { getConsoleDocument, putConsoleDocument } from "@perdure/admin-contract";
import { PutConsoleDocument } from "@perdure/admin-contract/requests";
import { json } from "../http/answer.js";
import { RouteError } from "../http/errors.js";
import { type ApiRoute, route } from "../http/route.js";
import type { AdminPorts } from "../ports.js";

/** A closed list: clients cannot fill the store with documents. */
const NAMES = ["views", "attention"];
const PREFIX = "console/";

/** None where nothing stores documents. */
export function consoleDocumentRoutes({ documents }: Pick<AdminPorts, "documents">): readonly ApiRoute[] {
  if (documents === undefined) return [];
  return [
    route(getConsoleDocument, {
      isInternal: true,
      summary: "A document of the console",
      answers: { 200: "The document, also when nothing is stored", 404: "There is no such document" },
      handle: async (request) => {
        const document = await documents.get(keyOf(request.param("document")));
        return json(200, {
          version: document?.version ?? 0,
          value: typeof document?.value === "string" ? document.value : null,
        });
      },
    }),
    route(putConsoleDocument, {
      isInternal: true,
      summary: "Store a document of the console",
      body: PutConsoleDocument,
      answers: { 200: "The document", 404: "There is no such document", 409: "It has another version; nothing was stored" },
      handle: async (request) => {
        const key = keyOf(request.param("document"));
        const { expected_version: expectedVersion, value } = await request.json(PutConsoleDocument);
        const outcome = await documents.write([{ kind: "put", key, value, expectedVersion }]);
        if (outcome.kind === "conflict") throw new RouteError(409, `the document has version ${outcome.actualVersion}`);
        return json(200, { version: outcome.version, value });
      },
    }),
  ];
}

function keyOf(name: string): string {
  if (!NAMES.includes(name)) throw new RouteError(404, `there is no document '${name}'`);
  return PREFIX + name;
}
