/** Settings for limits of attempts: operators may need others behind shared addresses and proxies. */

import { API_CALLS, REQUESTS_MAX, REQUESTS_OF_NETWORK_MAX } from "@perdure/cloud-api";
import type { RateMaxima, RateName } from "@perdure/identity";
import { RATES } from "@perdure/identity";
import { group, integer } from "@perdure/process-kit";
import type { z } from "zod";

/** Each has a setting, whose sentence states the window. */
const SETTINGS = {
  signInsPerNetwork: ["sign-in by address", "Attempts to sign in from one network in ten minutes."],
  signInsPerAccountAndNetwork: [
    "sign-in to account by address",
    "Attempts to sign in to one account from one network in a quarter of an hour.",
  ],
  signInsPerAccount: ["sign-in to account", "…and from all networks together; browsers that signed in before are not counted."],
  signUpsPerNetwork: ["sign-up by address", "New users from one network in an hour."],
  deviceCodesPerNetwork: ["device code by address", "Codes for command lines that log in from one network in ten minutes."],
  deviceCodeLooksPerNetwork: ["user code by address", "Device codes entered per network and minute."],
  tokensPerNetwork: ["token by address", "Requests for tokens from one network in a minute."],
  providerSignInsPerNetwork: ["other provider by address", "Sign-ins by the other provider from one network in ten minutes."],
  mailsPerNetwork: ["mail by address", "Mails sent on request of one network per hour."],
  mailsPerRecipient: ["mail to account", "Of such mails to one address in an hour."],
  linksPerNetwork: ["link by address", "Links in mails that are opened from one network in ten minutes."],
  invitationLooksPerNetwork: ["invitation by address", "Invitations that are opened from one network in ten minutes."],
  invitationsPerAccount: ["invitation of account", "Invitations that members of one account send in a day."],
  invitationsPerRecipient: ["invitation to recipient", "Invitations to one address, by all accounts, in a day."],
} as const satisfies Readonly<Record<string, readonly [RateName, string]>>;

type LimitName = keyof typeof SETTINGS;
const names = Object.keys(SETTINGS) as readonly LimitName[];

const ofRates = Object.fromEntries(
  names.map((name) => [name, integer(RATES[SETTINGS[name][0]].max, { min: 1, sentence: SETTINGS[name][1] })]),
) as Readonly<Record<LimitName, ReturnType<typeof integer>>>;

export const limitSettings = group("Limits of requests and attempts. A network is one IPv4 address, or a /64 of IPv6.", {
  requestsAtOnce: integer(REQUESTS_MAX, { min: 1, sentence: "Requests that this process answers at the same time." }),
  requestsAtOncePerNetwork: integer(REQUESTS_OF_NETWORK_MAX, {
    min: 1,
    sentence: "Requests from one network that this process answers at the same time.",
  }),
  apiCallsPerSecond: integer(API_CALLS.perSecond, {
    min: 1,
    sentence: "Calls of one user to the Cloud API per second, at this process.",
  }),
  apiCallsBurst: integer(API_CALLS.burst, { min: 1, sentence: "Calls of one user to the Cloud API at once, at this process." }),
  ...ofRates,
});

export function rateMaximaOf(limits: z.output<typeof limitSettings>): RateMaxima {
  return Object.fromEntries(names.map((name) => [SETTINGS[name][0], limits[name]]));
}
