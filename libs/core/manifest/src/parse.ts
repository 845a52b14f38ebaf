/**
 * Decodes a manifest, checks every rule of service-protocol.md §13.3 that needs only the manifest itself, and normalises it; each error
 * names the rule that failed.
 */

import type { ErrorCode } from "@perdure/base";
import { causeMessage } from "@perdure/base";
import type { Manifest } from "./definition.js";
import { QUOTED_RESPONSE_CHARS_MAX } from "./limits.js";
import { checkRules } from "./rules.js";
import { translateManifest } from "./translate.js";
import { WireManifest } from "./wire.js";

/**
 * Why a manifest was refused. `status` is the HTTP status of the response to the registration; `code` is missing where the catalogue has
 * none.
 */
export interface ManifestProblem {
  readonly status: 400 | 500;
  readonly code: ErrorCode | undefined;
  readonly detail: string;
}

type ParsedManifest =
  | { readonly ok: true; readonly manifest: Manifest }
  | { readonly ok: false; readonly problem: ManifestProblem };

/** The content types of the four manifest versions, oldest first. */
const MANIFEST_CONTENT_TYPES: readonly string[] = [1, 2, 3, 4].map(
  (version) => `application/vnd.restate.endpointmanifest.v${version}+json`,
);

/** The `accept` header of a discovery request. */
export const MANIFEST_ACCEPT = MANIFEST_CONTENT_TYPES.join(", ");

/** Decodes and checks a discovery response. `contentType` is its unchanged header, `undefined` when there was none. */
export function parseManifest(contentType: string | undefined, text: string): ParsedManifest {
  if (contentType === undefined || !MANIFEST_CONTENT_TYPES.includes(contentType.trim())) {
    return refused(
      500,
      "META0013",
      `received a bad response from the SDK: bad content type header: ${JSON.stringify(contentType ?? null)}. ` +
        `Expected one of '${MANIFEST_ACCEPT}'`,
    );
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    return undecodable(causeMessage(cause), text);
  }
  const wire = WireManifest.safeParse(json);
  if (!wire.success) {
    const issue = wire.error.issues[0];
    return undecodable(issue === undefined ? "unexpected shape" : `${issue.path.join(".")}: ${issue.message}`, text);
  }
  const { protocolMode, minProtocolVersion, maxProtocolVersion } = wire.data;
  if (protocolMode === undefined || protocolMode === null) {
    return refused(500, "META0013", "received a bad response from the SDK: the manifest does not name its protocolMode");
  }
  if (minProtocolVersion > maxProtocolVersion) {
    return refused(
      500,
      "META0013",
      `received a bad response from the SDK: minProtocolVersion ${minProtocolVersion} is above maxProtocolVersion ${maxProtocolVersion}`,
    );
  }
  const problem = checkRules(wire.data);
  if (problem !== undefined) return { ok: false, problem };
  return { ok: true, manifest: translateManifest(wire.data, protocolMode) };
}

function undecodable(why: string, text: string): ParsedManifest {
  const quoted = text.length > QUOTED_RESPONSE_CHARS_MAX ? `${text.slice(0, QUOTED_RESPONSE_CHARS_MAX)}…` : text;
  return refused(
    500,
    undefined,
    `received a bad response from the SDK that cannot be decoded: ${why}. Discovery response: ${quoted}`,
  );
}

function refused(status: 400 | 500, code: ErrorCode | undefined, detail: string): ParsedManifest {
  return { ok: false, problem: { status, code, detail } };
}
