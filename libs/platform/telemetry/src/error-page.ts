/** Addresses of pages of the documentation, which is published by version. */
import { VERSION } from "./version.js";

/** The variable with another address than the published one, for networks that serve `make docs` themselves. */
export const DOCS_URL_VARIABLE = "PERDURE_DOCS_URL";
const PUBLISHED_DOCS_URL = `https://perdure.dev/docs/v${VERSION}`;

/** The page of an error code. `docsUrl`: the value of `DOCS_URL_VARIABLE`; the published documentation when undefined or empty. */
export function errorPageUrl(code: string, docsUrl: string | undefined): string {
  return `${(docsUrl || PUBLISHED_DOCS_URL).replace(/\/+$/, "")}/errors/${code}`;
}
