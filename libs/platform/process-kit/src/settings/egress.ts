/**
 * Limits of the addresses that a server connects to: users choose the addresses of their code and topics, and a server for several tenants
 * must not connect to all of them.
 */
import { lookup } from "node:dns";
import { type Logger, redactUrl } from "@perdure/base";
import { createEgressGuard, type EgressGuard, parseAllowance, parseRange } from "@perdure/egress";
import { z } from "zod";
import { boolean, choice, custom, group, tomlValue } from "../config/setting.js";

/** Texts that `isWellFormed` accepts. */
function listOf(isWellFormed: (text: string) => boolean, error: string) {
  return z.array(z.string().refine(isWellFormed, error)).prefault([]);
}

function isDomain(text: string): boolean {
  const parsed = parseAllowance(text);
  return parsed?.kind === "host" && !parsed.below;
}

const isRange = (text: string): boolean => parseRange(text) !== undefined;
const isAllowance = (text: string): boolean => parseAllowance(text) !== undefined;

/** The group `egress` of roles that connect to endpoints and brokers. */
export const egressSettings = group("Where the server may connect to for its users: endpoints, Kafka brokers, token endpoints.", {
  policy: choice(["open", "guarded"], "open", {
    sentence:
      "open: anywhere, localhost included; guarded: only addresses that are public on the internet, for servers with untrusted users.",
  }),
  allowPlainHttp: boolean(false, { sentence: "When guarded: also http, and port 80 with it; else https only." }),
  ownDomains: custom(listOf(isDomain, "must be a domain such as 'perdure.example'"), {
    sentence: "When guarded: domains of the platform itself; they and all below them are refused.",
    show: tomlValue,
  }),
  ownRanges: custom(listOf(isRange, "must be a range of addresses such as '198.51.100.0/24'"), {
    sentence: "When guarded: public addresses of the platform itself, as ranges; they are refused.",
    show: tomlValue,
  }),
  allow: custom(listOf(isAllowance, "must be a range, a host, '*.' and a domain, or an http(s) URL without query"), {
    sentence:
      "When guarded: exceptions, as ranges ('10.1.0.0/16'), hosts ('*.corp.example') or URLs ('http://relay:9080/path/').",
    show: tomlValue,
  }),
});

export type EgressSettings = z.output<typeof egressSettings>;

/** Undefined when the policy is open: then no connection is checked. */
export function egressGuardOf(settings: EgressSettings, logger: Logger): EgressGuard | undefined {
  if (settings.policy === "open") return undefined;
  return createEgressGuard(
    {
      allowPlainHttp: settings.allowPlainHttp,
      ownDomains: settings.ownDomains.map((domain) => domain.toLowerCase()),
      ownRanges: parsed(settings.ownRanges, parseRange),
      allowances: parsed(settings.allow, parseAllowance),
    },
    {
      resolve: (hostname, done) => lookup(hostname, { all: true }, done),
      onDenied: (destination, reason) =>
        logger.warn({ destination: withoutSecrets(destination), reason }, "a destination is refused"),
    },
  );
}

/** The settings were read with the same functions. */
function parsed<T>(texts: readonly string[], parse: (text: string) => T | undefined): readonly T[] {
  return texts.flatMap((text) => parse(text) ?? []);
}

/** Longer destinations are logged in part; they are users' texts. */
const LOGGED_CHARS_MAX = 300;

/** Users write credentials into URLs: into their paths and queries too. */
function withoutSecrets(destination: string): string {
  const address = destination.replace(/[?#].*$/s, "");
  const hasPath = /^https?:/i.test(address) && URL.canParse(address) && new URL(address).pathname !== "/";
  const shown = hasPath ? redactUrl(address) : address.replace(/([\\/]{2})[^\\/]*@/, "$1***@");
  return shown.slice(0, LOGGED_CHARS_MAX);
}
