/** Every setting of the program `perdure-tunnel-relay`, with the names that other programs use for the same setting. */
import { probeSettings, publicTlsSettings, tenancyAddresses, tlsSettings } from "@perdure/cluster-kit";
import {
  bindAddress,
  bindPort,
  boolean,
  type ConfigInputs,
  custom,
  group,
  integer,
  type LoadedConfig,
  loadConfig,
  optionalText,
  processSettings,
  RESERVED_VARIABLES,
  text,
  tomlValue,
} from "@perdure/process-kit";
import { z } from "zod";
import { HANDSHAKES_PER_MINUTE } from "../limits.js";

/** A list in a file, or one line with commas in the environment and in flags. */
const listOf = (each: z.ZodString) =>
  z.union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))]).pipe(z.array(each));

const origin = z.string().regex(/^https?:\/\/(\[[0-9A-Fa-f:]+\]|[^/:?#@\s]+)(:\d{1,5})?$/, "must be like https://host:port");
const show = (list: unknown): string | undefined => (list === undefined ? undefined : tomlValue(list));

const originSetting = (sentence: string) => custom(origin.optional(), { sentence, form: "scalar" });

const regions = custom(
  listOf(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, "must be lower-case letters, digits, '-' and '.'")).prefault("us"),
  {
    sentence: "Regions of this relay, separated by commas: environments of others are not served. The first one is in its name.",
    form: "scalar",
    show: tomlValue,
  },
);

export const settings = group("Settings of perdure-tunnel-relay. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  regions,
  domain: text("localhost", { sentence: "Relays are called tunnel.<region>.<domain>." }),
  proxyUrl: originSetting("Origin of the proxy in addresses of deployments; https://tunnel.<region>.<domain>:9080 when not set."),
  tunnelUrl: originSetting("Origin where clients reach this relay; https://tunnel.<region>.<domain>:9090 when not set."),
  tunnels: group("Listener for tunnel clients.", { bindAddress: bindAddress(), bindPort: bindPort(9090) }),
  proxy: group("Listener for runtimes and other relays; it should not be reachable from outside.", {
    bindAddress: text("127.0.0.1", { sentence: "Address to listen on." }),
    bindPort: bindPort(9080),
    cleartext: boolean(false, {
      sentence:
        "Whether this listener is cleartext, without the certificate of tunnels: for runtimes inside that use names the certificate lacks.",
    }),
  }),
  publicTls: publicTlsSettings("The certificate of both listeners", "tunnel.<region>.<domain> and all SRV targets"),
  handshakesPerMinute: integer(HANDSHAKES_PER_MINUTE, {
    sentence: "How many tunnel clients of one network may dial in within a minute.",
    min: 1,
    max: 1_000_000,
  }),
  peers: group("Other relays: a client may be connected to one of them.", {
    urls: custom(listOf(origin).optional(), {
      sentence: "Origins of the proxies of other relays, separated by commas.",
      form: "scalar",
      show,
    }),
    service: originSetting(
      "Origin whose host name has an address for each relay, such as a headless Service; looked up again as relays come and go. This relay may be one of them.",
    ),
    caFile: optionalText({
      sentence:
        "PEM file with authorities to trust at other relays, instead of the system's; read again as the files of public-tls are.",
    }),
  }),
  probes: probeSettings,
  tls: tlsSettings,
  tenancy: tenancyAddresses("The tenancy service, which has environments and credentials."),
});

export type TunnelRelaySettings = z.output<typeof settings>;

/** Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: [] });
}
