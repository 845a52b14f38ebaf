/** Why: programs find the console beside themselves, whether they are bundled, packed into an image, or run from their sources. */
import { fileURLToPath } from "node:url";

/** Of the built console. Bundles are one folder below their service, as this file's own folder is below `src`'s. */
export const CONSOLE_DIRECTORY = fileURLToPath(new URL(pathFrom(import.meta.url), import.meta.url));

/** Bundled, this is `services/<any>/dist/main.mjs`; else `services/admin-api/src/console/directory.ts`. */
function pathFrom(own: string): string {
  return /\/src\/console\/[^/]*$/.test(own) ? "../../../console/dist" : "../../console/dist";
}
