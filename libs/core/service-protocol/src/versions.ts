/** Protocol versions spoken here and how an attempt's version is chosen (service-protocol §2.6). */

export type ProtocolVersion = 5 | 6 | 7;

export const protocolVersionMin: ProtocolVersion = 5;
export const protocolVersionMax: ProtocolVersion = 7;

/** The highest version a server offers by default: v7 is opt-in, as on the reference server. */
export const protocolVersionDefaultMax: ProtocolVersion = 6;

export function isSupportedVersion(version: number): version is ProtocolVersion {
  return version === 5 || version === 6 || version === 7;
}

/** Whether a manifest declaring `min..max` is acceptable at registration; if not, META0012. */
export function overlapsSupportedVersions(min: number, max: number): boolean {
  return min <= protocolVersionMax && max >= protocolVersionMin;
}

type VersionChoice =
  | { readonly kind: "version"; readonly version: ProtocolVersion }
  /** RT0013: the deployment needs more than this server offers, or offers less than it understands. */
  | { readonly kind: "unsupported" };

/**
 * The version an invocation pins at its first attempt: the highest that both support, `min(max, serverMax)`.
 *
 * @param min lowest version the deployment declared
 * @param max highest version the deployment declared
 * @param serverMax highest version this server is configured to use
 */
export function selectVersion(min: number, max: number, serverMax: ProtocolVersion): VersionChoice {
  const version = Math.min(max, serverMax);
  if (min > serverMax || !isSupportedVersion(version)) return { kind: "unsupported" };
  return { kind: "version", version };
}

const contentTypes: Readonly<Record<ProtocolVersion, string>> = {
  5: "application/vnd.restate.invocation.v5",
  6: "application/vnd.restate.invocation.v6",
  7: "application/vnd.restate.invocation.v7",
};

/** Media type of request and response of an attempt; the endpoint must echo it exactly (§1.4, §1.5). */
export function invocationContentType(version: ProtocolVersion): string {
  return contentTypes[version];
}
