/**
 * Gives the programs of a runtime that call services access to services behind tunnels. Each of them receives the token as a file; other
 * pods do not.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";
import type { EnvironmentProgram } from "./runtime-config.js";

export const TUNNEL_TOKEN = "tunnel-token";
export const TOKEN_KEY = "token";
const TUNNELS_PATH = "/var/run/perdure/tunnels";

/** Returns settings by their dotted names. */
export function tunnelSettings({ spec }: EnvironmentResource): Readonly<Record<string, string>> {
  if (spec.tunnels === undefined) return {};
  return { "tunnels.proxy-url": spec.tunnels.proxyUrl, "tunnels.token-file": `${TUNNELS_PATH}/${TOKEN_KEY}` };
}

/** Workers send attempts, and the registry discovers endpoints. */
const CALLS_SERVICES: ReadonlySet<EnvironmentProgram> = new Set<EnvironmentProgram>(["worker", "registry"]);

export function tunnelMounts(
  { spec }: EnvironmentResource,
  program: EnvironmentProgram,
): readonly Readonly<Record<string, unknown>>[] {
  if (spec.tunnels === undefined || !CALLS_SERVICES.has(program)) return [];
  return [{ name: "tunnels", mountPath: TUNNELS_PATH, readOnly: true }];
}

export function tunnelVolumes({ spec }: EnvironmentResource): readonly Readonly<Record<string, unknown>>[] {
  if (spec.tunnels === undefined) return [];
  return [{ name: "tunnels", secret: { secretName: TUNNEL_TOKEN, defaultMode: 0o440 } }];
}
