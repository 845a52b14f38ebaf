/** The stored form of an invocation's outcome. */
import { ProtoReader, type ProtoWriter } from "@perdure/base";
import type { Failure } from "@perdure/service-protocol";
import type { Outcome } from "@perdure/state-machine";

/** `{1 value}` or `{2 code, 3 message, 4 metadata*, 5 stacktrace}`. */
export function writeOutcome(w: ProtoWriter, field: number, outcome: Outcome): void {
  w.fork(field);
  if (outcome.kind === "success") {
    w.bytes(1, outcome.value);
  } else {
    w.uint32(2, outcome.failure.code).string(3, outcome.failure.message);
    for (const { key, value } of outcome.failure.metadata) w.fork(4).string(1, key).string(2, value).join();
    if (outcome.stacktrace !== undefined) w.string(5, outcome.stacktrace);
  }
  w.join();
}

export function decodeOutcome(bytes: Uint8Array): Outcome {
  const r = new ProtoReader(bytes);
  let value: Uint8Array | undefined;
  let code = 0;
  let message = "";
  const metadata: { key: string; value: string }[] = [];
  let stacktrace: string | undefined;
  while (r.hasMore()) {
    const tag = r.tag();
    switch (tag >>> 3) {
      case 1:
        value = r.bytes();
        break;
      case 2:
        code = r.uint32();
        break;
      case 3:
        message = r.string();
        break;
      case 4:
        metadata.push(decodePair(r.bytes()));
        break;
      case 5:
        stacktrace = r.string();
        break;
      default:
        r.skip(tag & 7);
    }
  }
  if (value !== undefined) return { kind: "success", value };
  const failure: Failure = { code, message, metadata };
  return { kind: "failure", failure, stacktrace };
}

function decodePair(bytes: Uint8Array): { key: string; value: string } {
  const r = new ProtoReader(bytes);
  let key = "";
  let value = "";
  while (r.hasMore()) {
    const tag = r.tag();
    if (tag >>> 3 === 1) key = r.string();
    else if (tag >>> 3 === 2) value = r.string();
    else r.skip(tag & 7);
  }
  return { key, value };
}
