/** Where unpacked or fetched programs are kept between runs. */
import { homedir } from "node:os";
import { join } from "node:path";

/** `XDG_CACHE_HOME` wins; a service without a home directory sets it. */
export function cacheFolder(environment: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  const given = environment["XDG_CACHE_HOME"];
  if (given !== undefined && given !== "") return join(given, "perdure");
  if (platform === "win32") return join(environment["LOCALAPPDATA"] ?? join(homedir(), "AppData", "Local"), "perdure", "cache");
  return join(homedir(), platform === "darwin" ? "Library/Caches" : ".cache", "perdure");
}
