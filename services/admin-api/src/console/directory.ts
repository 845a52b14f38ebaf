/** Location of the built console relative to the program: bundled, in an image, or run from source. */
import { fileURLToPath } from "node:url";

/** Directory of the built console. Bundles are one folder below their service, as this file's own folder is below `src`'s. */
export const CONSOLE_DIRECTORY = fileURLToPath(new URL(pathFrom(import.meta.url), import.meta.url));

/**
 * Returns the path from this file to the console. In a bundle, `own` is `services/<any>/dist/main.mjs`; otherwise `services/admin-
 * api/src/console/directory.ts`.
 */
function pathFrom(own: string): string {
  return /\/src\/console\/[^/]*$/.test(own) ? "../../../console/dist" : "../../console/dist";
}
