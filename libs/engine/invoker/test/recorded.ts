/** Exchanges recorded between the reference server and published SDKs, frame by frame (`testdata/exchanges.jsonl`). */
import { readFileSync } from "node:fs";
import { isSupportedVersion, type ProtocolVersion } from "@perdure/service-protocol";

export interface RecordedFrame {
  readonly from: "server" | "endpoint";
  readonly type: number;
  readonly flags: number;
  readonly body: Uint8Array;
}

export interface RecordedAttempt {
  readonly scenario: string;
  readonly index: number;
  readonly path: string;
  readonly version: ProtocolVersion;
  readonly mode: "bidi" | "requestResponse";
  readonly accepted: boolean;
  readonly reset: boolean;
  /** The endpoint ended its response after this many frames; -1 it did not. */
  readonly responseEndedAfter: number;
  readonly frames: readonly RecordedFrame[];
}

interface Line {
  scenario: string;
  attempts: {
    path: string;
    contentType: string;
    status: number;
    responseContentType: string;
    reset: boolean;
    responseEndedAfter: number;
    frames: string[];
  }[];
}

export function recordedAttempts(): RecordedAttempt[] {
  const text = readFileSync(new URL("../testdata/exchanges.jsonl", import.meta.url), "utf8");
  const attempts: RecordedAttempt[] = [];
  for (const line of text.trimEnd().split("\n")) {
    const { scenario, attempts: recorded } = JSON.parse(line) as Line;
    recorded.forEach((attempt, index) => {
      const version = Number(attempt.contentType.at(-1));
      if (!isSupportedVersion(version)) throw new Error(`unexpected content type ${attempt.contentType}`);
      attempts.push({
        scenario,
        index,
        path: attempt.path,
        version,
        mode: attempt.path.includes("RR/") ? "requestResponse" : "bidi",
        accepted: attempt.status === 200 && attempt.responseContentType === attempt.contentType,
        reset: attempt.reset,
        responseEndedAfter: attempt.responseEndedAfter,
        frames: attempt.frames.map(parseFrame),
      });
    });
  }
  return attempts;
}

/** `>0000 0000 hex`: direction, type, flags, body. */
function parseFrame(text: string): RecordedFrame {
  const [head, flags, body] = text.slice(1).split(" ");
  return {
    from: text.startsWith(">") ? "server" : "endpoint",
    type: Number.parseInt(head ?? "", 16),
    flags: Number.parseInt(flags ?? "", 16),
    body: new Uint8Array(Buffer.from(body ?? "", "hex")),
  };
}
