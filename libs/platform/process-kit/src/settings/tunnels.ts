/** Where the proxy of a relay is; through it the runtime of an environment reaches services behind its tunnels. */
import { PerdureError, Secret } from "@perdure/base";
import { bareOf, parseEnvironmentId } from "@perdure/cloud";
import type { TunnelAccess } from "@perdure/tunnel";
import { group, optionalText } from "../config/setting.js";
import { readSettingFile } from "../setting-file.js";

export const tunnelSettings = group("For the runtime of an environment: its tunnels. There are none when not set.", {
  proxyUrl: optionalText({
    sentence: "Origin of a relay's proxy, like https://tunnel.us.perdure.dev:9080; used for all tunnels.",
  }),
  publicUrl: optionalText({ sentence: "How addresses of deployments name that proxy; proxy-url when not set." }),
  tokenFile: optionalText({
    sentence: "File with the token that identifies the runtime to the proxy; needed with proxy-url.",
  }),
  caFile: optionalText({ sentence: "PEM file with authorities to trust for the proxy, instead of the system's." }),
});

export interface TunnelSetup {
  readonly access: TunnelAccess;
  /** PEM certificates; undefined: the system's. */
  readonly ca: string | undefined;
}

export interface TunnelSettings {
  readonly clusterName: string;
  readonly tunnels: {
    readonly proxyUrl?: string | undefined;
    readonly publicUrl?: string | undefined;
    readonly tokenFile?: string | undefined;
    readonly caFile?: string | undefined;
  };
}

/** Undefined when there are none. Throws OPS0001 when the settings do not go together or a file cannot be read. */
export function tunnelsOf({
  clusterName,
  tunnels: { proxyUrl, publicUrl, tokenFile, caFile },
}: TunnelSettings): TunnelSetup | undefined {
  if (proxyUrl === undefined) return undefined;
  const id = parseEnvironmentId(clusterName);
  if (id === undefined) throw wrong("'tunnels.proxy-url' needs 'cluster-name' to be the id of an environment");
  if (tokenFile === undefined) throw wrong("'tunnels.proxy-url' needs 'tunnels.token-file'");
  const token = readSettingFile("tunnels.token-file", tokenFile).trim();
  if (token === "") throw wrong(`'tunnels.token-file' ${tokenFile} is empty`);
  return {
    access: {
      bare: bareOf(id),
      proxyUrl: originOf("tunnels.proxy-url", proxyUrl),
      publicUrl: originOf("tunnels.public-url", publicUrl ?? proxyUrl),
      token: new Secret(token),
    },
    ca: caFile === undefined ? undefined : readSettingFile("tunnels.ca-file", caFile),
  };
}

function originOf(setting: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search !== "") {
    throw wrong(`'${setting}' must be an origin like https://tunnel.us.perdure.dev:9080, not '${text}'`);
  }
  return url.origin;
}

function wrong(detail: string): PerdureError {
  return new PerdureError("OPS0001", detail);
}
