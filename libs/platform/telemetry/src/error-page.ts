/** Addresses of pages of the documentation, which is published by version. */
import { VERSION } from "./version.js";

/** The variable with another address than the published one, for networks that serve `make docs` themselves. */
export const DOCS_URL_VARIABLE = "PERDURE_DOCS_URL";
const PUBLISHED_DOCS_URL = `https://perdure.dev/docs/v${VERSION}`;

/** Without a slash at the end. `given`: the value of `DOCS_URL_VARIABLE`; the published documentation when undefined or empty. */
export function docsUrl(given: string | undefined): string {
  return (given || PUBLISHED_DOCS_URL).replace(/\/+$/, "");
}

/** The page of an error code; `given` as in `docsUrl`. */
export function errorPageUrl(code: string, given: string | undefined): string {
  return `${docsUrl(given)}/errors/${code}`;
}
