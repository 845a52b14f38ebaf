/** Every setting of the program `perdure-tunnel-client`. */
import {
  bindPort,
  boolean,
  type ConfigInputs,
  custom,
  group,
  type LoadedConfig,
  loadConfig,
  loopbackAddress,
  optionalText,
  processSettings,
  RESERVED_VARIABLES,
  text,
  tomlValue,
} from "@perdure/process-kit";
import { z } from "zod";

/** A list in a file, or one line with commas in the environment and in flags. */
const listOf = (sentence: string) =>
  custom(z.union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))]).optional(), {
    sentence,
    form: "scalar",
    show: (list) => (list === undefined ? undefined : tomlValue(list)),
  });

export const settings = group(
  "Settings of perdure-tunnel-client. Every line can be set here, in the environment, or by a flag.",
  {
    ...processSettings,
    tunnel: group("Of which environment, to which relays, for what.", {
      environmentId: optionalText({ sentence: "Whom the tunnel is for: env_…" }),
      name: optionalText({ sentence: "Of the tunnel; clients of one name share its load." }),
      signingPublicKeys: listOf(
        "Keys of the environment, publickeyv1_…, separated by commas; what they have not signed is not served.",
      ),
      credentialFile: optionalText({ sentence: "A file with an API key, read anew for each connection." }),
      srv: optionalText({ sentence: "DNS name whose SRV records lead to relays: tunnel.<region>.<domain>." }),
      servers: listOf("Relays instead of SRV records: host:port, https://host:port, separated by commas."),
      allow: listOf("What may be called: http://host:port, http://*.suffix:port, separated by commas; nothing else is dialled."),
    }),
    caFile: optionalText({
      sentence: "PEM file with authorities to trust for relays and the environment, instead of the system's.",
    }),
    remoteProxy: group("Ports of the environment, brought here; every client that reaches them acts with the credential.", {
      enabled: boolean(false, { sentence: "Whether they are opened." }),
      bindAddress: text("::", { sentence: "Address to listen on." }),
      ingressPort: bindPort(8080),
      adminPort: bindPort(9070),
      ingressUrl: optionalText({ sentence: "The environment's ingress." }),
      adminUrl: optionalText({ sentence: "The environment's management API." }),
    }),
    probes: group("The HTTP listener for orchestrators: /livez, /readyz, /metrics.", {
      bindAddress: loopbackAddress(),
      bindPort: bindPort(9091),
    }),
  },
);

export type TunnelClientSettings = z.output<typeof settings>;

/** Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: [] });
}
