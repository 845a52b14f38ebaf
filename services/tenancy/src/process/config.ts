/** Every setting of the program `perdure-tenancy`. Settings that other programs have too are named as there. */
import { grpcSettings, metadataSettings, probeSettings, publicTlsSettings, tlsSettings } from "@perdure/cluster-kit";
import { parseAllowance } from "@perdure/egress";
import {
  bindAddress,
  bindPort,
  type ConfigInputs,
  choice,
  custom,
  duration,
  group,
  type LoadedConfig,
  loadConfig,
  optionalText,
  port,
  processSettings,
  RESERVED_VARIABLES,
  text,
  tomlValue,
  traceUrl,
  trustedProxySettings,
} from "@perdure/process-kit";
import { z } from "zod";
import { limitSettings } from "./limit-settings.js";

const label = /^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,3}$/;

/** A list in a file, or one line with commas in the environment and in flags. */
const regionList = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))])
  .pipe(z.array(z.string().regex(label, "must be names of regions, like 'us'")).min(1))
  .prefault(["us"]);

const allowanceList = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((one) => one.trim()))])
  .pipe(
    z.array(
      z.string().refine((text) => parseAllowance(text) !== undefined, "must be ranges, hosts, or http(s) URLs without query"),
    ),
  )
  .prefault([]);

const originSetting = (sentence: string) =>
  custom(z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(), { sentence, form: "scalar" });

export const settings = group("Settings of perdure-tenancy. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  consoleUrl: originSetting(
    "Origin of the console and of the login pages, used in mails and by command lines; api.public-url when not set.",
  ),
  publicTls: publicTlsSettings("The certificate of the public listener", "the name in api.public-url"),
  api: group("The public HTTP listener: the Cloud API and login.", {
    bindAddress: bindAddress(),
    bindPort: bindPort(8085),
    publicUrl: originSetting(
      "How it is reached, and the issuer of access tokens; https://api.<first region>.<domain> when not set.",
    ),
  }),
  limits: limitSettings,
  trustedProxies: trustedProxySettings,
  console: group(
    "The web console, which this program serves at console-url and which requests environments through the gateway.",
    {
      directory: optionalText({ sentence: "Directory of the built console; beside the program when not set." }),
      traceUrl: traceUrl("URL of a trace of an environment, with '{traceId}' in it; the console links to it."),
      gatewayHost: optionalText({
        sentence:
          "Where gateways listen for it, as a host name or address ('{region}' in it is the environment's region); the public addresses of environments when not set.",
      }),
      gatewayScheme: choice(["auto", "https", "http"], "auto", {
        sentence: "Scheme of the gateways at that host; auto: the value of cloud.scheme.",
      }),
      gatewayIngressPort: port(8080, { sentence: "Their ingress, at that host." }),
      gatewayAdminPort: port(9070, { sentence: "Their management API, at that host." }),
      gatewayAuthorityFile: optionalText({ sentence: "CA of the gateways' certificate (PEM), if it is not a public one." }),
      forwardingKeyFile: optionalText({
        sentence:
          "File shared with gateways (forwarding-key-file), with which this program signs the client addresses of requests that it forwards. Lines as in secrets.key-file; other keys than there.",
      }),
    },
  ),
  grpc: grpcSettings,
  probes: probeSettings,
  tls: tlsSettings,
  metadata: metadataSettings,
  login: group("Ways to sign in besides passwords.", {
    oidcIssuer: originSetting(
      "An OpenID Connect provider where users can sign in; its client must allow <console url>/login/callback.",
    ),
    oidcClientId: optionalText({ sentence: "Client id of this program at that provider." }),
    oidcClientSecretFile: optionalText({ sentence: "File with its client secret at that provider." }),
    oidcAllow: custom(allowanceList, {
      sentence:
        "What that provider may name besides itself and what is public: ranges ('10.1.0.0/16'), hosts ('*.corp.example') or URLs, separated by commas.",
      form: "scalar",
      show: tomlValue,
    }),
    oidcName: text("your organisation", { sentence: "Name of the provider on the page." }),
    verifyEmail: choice(["auto", "on", "off"], "auto", {
      sentence: "Whether users must confirm an e-mail address before they sign in with it; auto: when mail can be sent.",
    }),
  }),
  mail: group("Outgoing mail. Without a server mails go to the log, for development only: the log then contains sign-in links.", {
    smtpHost: optionalText({ sentence: "SMTP server for outgoing mail." }),
    smtpPort: bindPort(587),
    smtpTls: choice(["starttls", "implicit", "none"], "starttls", {
      sentence:
        "starttls: TLS before any other command; implicit: from the first byte (port 465); none: for a server on this machine.",
    }),
    smtpUser: optionalText({ sentence: "User name at the mail server; no login when not set." }),
    smtpPasswordFile: optionalText({ sentence: "File with the password at the mail server." }),
    from: text("Perdure <noreply@perdure.localhost>", { sentence: "Sender of mails." }),
  }),
  secrets: group("Secrets that are not in the database.", {
    keyFile: optionalText({
      sentence:
        "File with a line for each key: a number and 32 random bytes in base 64. The highest number is used; the others open older secrets.",
    }),
  }),
  provisioner: group("Runtimes of environments: processes of this machine, or objects of a Kubernetes cluster.", {
    kind: choice(["processes", "kubernetes"], "processes", {
      sentence:
        "processes: in provisioner.directory, none without that directory; kubernetes: Environment objects that the operator of this cell fulfils.",
    }),
    kubeconfigFile: optionalText({
      sentence: "Kubernetes: a kubeconfig; when not set KUBECONFIG, the home directory or the service account of the pod.",
    }),
    namespace: text("perdure-system", {
      sentence: "Kubernetes: the operator's namespace, where signing keys lie that environments refer to.",
    }),
    clusterDns: text("cluster.local", { sentence: "Kubernetes: suffix of names inside the cluster." }),
    runtimeVersion: optionalText({
      sentence: "Kubernetes: release that new environments run (1.4.0); those that are there keep theirs. Needed there.",
    }),
    size: choice(["free", "small", "medium", "large"], "small", { sentence: "Kubernetes: size of environments." }),
    hibernateAfter: duration("0s", {
      sentence: "Kubernetes: idle for this long, processes of an environment sleep; 0 or at least 5m (duration).",
    }),
    directory: optionalText({
      sentence: "Directory for the data of all environments; this process leaves environments to others when not set.",
    }),
    program: optionalText({ sentence: "The bundle of perdure server that is run; needed with a directory." }),
    configFile: optionalText({
      sentence: "File with settings that all runtimes have beside their own, as perdure server reads it.",
    }),
    egress: choice(["guarded", "open"], "guarded", {
      sentence: "guarded: runtimes connect only to what is public on the internet; open: anywhere, for development.",
    }),
    tracingEndpoint: originSetting(
      "Processes: OTLP/HTTP collector that runtimes send their traces to; as provisioner.config-file says when not set. On Kubernetes the operator has it.",
    ),
    onStop: choice(["leave", "stop"], "leave", {
      sentence:
        "What happens to runtimes when this process ends: leave keeps them running for the next process; stop, for a laptop, ends them all.",
    }),
    cgroup: optionalText({
      sentence:
        "A directory of cgroup v2 that is delegated to this user and has no processes: runtimes are kept there; they only stand back (nice) when not set.",
    }),
    uidRange: custom(
      z
        .string()
        .regex(/^\d{1,9}-\d{1,9}$/, "must be like 200000-265535")
        .transform((text) => {
          const [first = 0, last = 0] = text.split("-").map(Number);
          return { first, last };
        })
        .optional(),
      {
        sentence:
          "Numbers of users, like 200000-265535, one of which each runtime gets for itself, with a group of the same number; needs root, or the capabilities to change users and owners. All run as the user of this process when not set.",
        form: "scalar",
        show: (range) => (range === undefined ? undefined : `"${range.first}-${range.last}"`),
      },
    ),
    portsFirst: bindPort(41_000),
    portsLast: bindPort(41_999),
  }),
  cloud: group("Regions of environments, and their addresses.", {
    domain: text("perdure.localhost", { sentence: "Domain of all host names: <id>.env.<region>.<domain>." }),
    regions: custom(regionList, {
      sentence: "Regions where environments can be made, separated by commas.",
      form: "scalar",
      show: tomlValue,
    }),
    scheme: choice(["https", "http"], "https", { sentence: "Public addresses of environments." }),
    ingressPort: port(8080, { sentence: "Port of their ingress at their host names." }),
    adminPort: port(9070, { sentence: "Port of their management API there." }),
    portsHost: optionalText({
      sentence: "Development: environments have ports of their own on this host, instead of host names.",
    }),
    portsFirst: bindPort(30_000),
    tunnelProxyUrl: originSetting("Where runtimes reach tunnels; https://tunnel.<region>.<domain>:9080 when not set."),
    tunnelSrv: optionalText({
      sentence: "DNS name with the SRV records of tunnel relays; tunnel.<region>.<domain> when not set.",
    }),
    tunnelServers: optionalText({
      sentence:
        "Development: addresses of tunnel relays, separated by commas, for the perdure command line where there are no SRV records (http://127.0.0.1:9090).",
    }),
    tunnels: choice(["off", "on"], "off", { sentence: "Whether runtimes get the address of tunnel relays." }),
    lambdaPrincipalArn: optionalText({ sentence: "The AWS role that invokes customers' functions, as shown to them." }),
  }),
});

export type TenancySettings = z.output<typeof settings>;

/** Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: [] });
}
