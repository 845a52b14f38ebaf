/** Every setting of the program `perdure-cloud-gateway`. Settings that other programs have too are named as there. */
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
  trustedProxySettings,
} from "@perdure/process-kit";
import { z } from "zod";
import { CONNECTIONS_PER_NETWORK_MAX, NETWORK_LIMITS } from "../limits.js";

const httpUrl = (sentence: string) =>
  custom(z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(), { sentence, form: "scalar" });

const region = custom(
  z
    .string()
    .regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, "must be lower-case letters, digits, '-' and '.'")
    .prefault("us"),
  { sentence: "Region of this gateway, as host names have it.", form: "scalar" },
);

export const settings = group(
  "Settings of perdure-cloud-gateway. Every line can be set here, in the environment, or by a flag.",
  {
    ...processSettings,
    region,
    domain: text("localhost", { sentence: "Environments are called at <id>.env.<region>.<domain>." }),
    issuer: httpUrl("Issuer of access tokens: the origin of the Cloud API; https://api.<region>.<domain> when not set."),
    consoleUrl: httpUrl("Origin of the web console: target of /ui, and the origin whose pages may call the management API."),
    accessLog: boolean(true, {
      sentence: "Whether each request is a line in the log; without paths, queries, bodies or tokens.",
    }),
    connectionsPerNetwork: integer(CONNECTIONS_PER_NETWORK_MAX, {
      min: 1,
      sentence:
        "Open connections that one network may have; those of trusted proxies are not counted. Raise it where a load balancer hides the addresses of clients.",
    }),
    forwardingKeyFile: optionalText({
      sentence:
        "File shared with tenancy (console.forwarding-key-file): users of the console then count with their own addresses instead of that of tenancy. Lines as in secrets.key-file.",
    }),
    limits: group("Other limits of one network: one IPv4 address, or a /64 of IPv6.", {
      wrongCredentialsPerMinute: integer(NETWORK_LIMITS.unauthorizedPerMinute, {
        min: 1,
        sentence: "Wrong credentials and unknown environments per minute, and as many at once; further ones are not looked up.",
      }),
      lookupsAtOnce: integer(NETWORK_LIMITS.lookupsMax, {
        min: 1,
        sentence: "Concurrent look-ups of its credentials.",
      }),
      anonymousPerSecond: integer(NETWORK_LIMITS.anonymousPerSecond, {
        min: 1,
        sentence: "Requests without a credential (version, health, preflights) per second.",
      }),
      anonymousBurst: integer(NETWORK_LIMITS.anonymousBurst, { min: 1, sentence: "Requests without a credential at once." }),
    }),
    trustedProxies: trustedProxySettings,
    ingress: group("The listener for callers of services.", { bindAddress: bindAddress(), bindPort: bindPort(8080) }),
    admin: group("The listener for management.", { bindAddress: bindAddress(), bindPort: bindPort(9070) }),
    publicTls: publicTlsSettings("The certificate of both listeners", "*.env.<region>.<domain>"),
    environmentPorts: group("For development: ports of its own for each environment, instead of names.", {
      enabled: boolean(false, {
        sentence: "Whether each environment is served at the ports of its ingress and admin addresses.",
      }),
      bindAddress: text("127.0.0.1", { sentence: "Address to listen on." }),
    }),
    probes: probeSettings,
    tls: tlsSettings,
    tenancy: tenancyAddresses("Connection to tenancy, which keeps environments and credentials."),
  },
);

export type CloudGatewaySettings = z.output<typeof settings>;

/** Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: [] });
}
