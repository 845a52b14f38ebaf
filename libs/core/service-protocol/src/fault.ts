/**
 * Faults of an endpoint, as data. Decoders return a `ProtocolFault` where they cannot return a message, because the attempt decides how to
 * react (stop, drain, retry or pause) and a thrown error would take that choice away.
 */
import { ProtoError } from "@perdure/base";

/** RT0003 message too large · RT0012 protocol violation · RT0025 awaited future too deep (service-protocol §14). */
type ProtocolFaultCode = "RT0003" | "RT0012" | "RT0025";

export interface ProtocolFault {
  readonly kind: "fault";
  readonly code: ProtocolFaultCode;
  /** A sentence for users; it names the message and never quotes payload bytes. */
  readonly detail: string;
}

/** A violation of the protocol, RT0012. */
export function protocolViolation(detail: string): ProtocolFault {
  return { kind: "fault", code: "RT0012", detail };
}

/** Distinguishes a fault from a decoded message. Every decoded message carries a `kind` of its own. */
export function isFault(decoded: { readonly kind: string }): decoded is ProtocolFault {
  return decoded.kind === "fault";
}

/**
 * Runs a decoder over bytes of another program: a malformed body becomes RT0012; any other error is a bug of this program and is thrown on.
 */
export function decodeOrFault<T>(message: string, decode: (body: Uint8Array) => T, body: Uint8Array): T | ProtocolFault {
  try {
    return decode(body);
  } catch (cause) {
    if (cause instanceof ProtoError) return protocolViolation(`malformed ${message} message: ${cause.message}`);
    throw cause;
  }
}
