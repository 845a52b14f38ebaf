/** The headers of a request that the gateway reads itself, found in one pass over the raw list. */
import { present } from "@perdure/base";
import { FORWARDED_FOR_HEADER } from "@perdure/cloud/forwarding";
import { HEADER_BYTES_MAX, HEADER_LINES_MAX } from "./limits.js";
import { type GatewayRefusal, headersTooLarge, malformed, noUpgrades } from "./refusal.js";

const DIGITS = /^\d{1,15}$/;
const FORWARDED_FOR_LENGTH = FORWARDED_FOR_HEADER.length;
const COLON = 58;

/** `RequestHead` documents the fields that have the same name there. */
export class HeaderFields {
  /** Number of headers `host`. */
  hostCount = 0;
  /** The header `host`, the last of several. */
  host: string | undefined = undefined;
  /** The pseudo-header `:authority` of HTTP/2. */
  authority: string | undefined = undefined;
  contentLength: number | undefined = undefined;
  isChunked = false;
  hasAuthorization = false;
  origin: string | undefined = undefined;
  requestedMethod: string | undefined = undefined;
  requestedHeaders: string | undefined = undefined;
  forwardedFor: string | undefined = undefined;
  connection: string | undefined = undefined;
  traceparent: string | undefined = undefined;
  isTraceRequested = false;
  userAgent: string | undefined = undefined;

  /** `rawHeaders`: names and values in turn. Returns why the headers are refused; the fields are incomplete then. */
  read(rawHeaders: readonly string[]): GatewayRefusal | undefined {
    let bytes = 0;
    let lines = 0;
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = present(rawHeaders[i]);
      const value = present(rawHeaders[i + 1]);
      bytes += name.length + value.length + 4;
      if (name.charCodeAt(0) === COLON) {
        if (name === ":authority") this.authority = value;
        continue;
      }
      lines++;
      const refused = this.#readField(name, value);
      if (refused !== undefined) return refused;
    }
    if (lines > HEADER_LINES_MAX || bytes > HEADER_BYTES_MAX) return headersTooLarge;
    return this.isChunked && this.contentLength !== undefined ? malformed("A request has one length, not two") : undefined;
  }

  #readField(name: string, value: string): GatewayRefusal | undefined {
    // Most names differ from all of these in their length, so most need no comparison.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === "host") {
          this.hostCount++;
          this.host = value;
        }
        break;
      case 6:
        if (name.toLowerCase() === "origin") this.origin ??= value;
        break;
      case 7:
        if (name.toLowerCase() === "upgrade" && /websocket/i.test(value)) return noUpgrades;
        break;
      case 10:
        if (name.toLowerCase() === "connection") this.connection = joined(this.connection, value);
        else if (name.toLowerCase() === "user-agent") this.userAgent ??= value;
        break;
      case 11:
        if (name.toLowerCase() === "traceparent") this.traceparent ??= value;
        break;
      case 13:
        if (name.toLowerCase() === "authorization") this.hasAuthorization = true;
        break;
      case 14:
        if (name.toLowerCase() === "content-length") return this.#readContentLength(value);
        break;
      case 15:
        if (name.toLowerCase() === "x-perdure-trace") this.isTraceRequested = value === "1";
        break;
      case 17:
        if (name.toLowerCase() === "transfer-encoding") return this.#readTransferEncoding(value);
        break;
      case FORWARDED_FOR_LENGTH:
        if (name.toLowerCase() === FORWARDED_FOR_HEADER) this.forwardedFor = value;
        break;
      case 29:
        if (name.toLowerCase() === "access-control-request-method") this.requestedMethod ??= value;
        break;
      case 30:
        if (name.toLowerCase() === "access-control-request-headers") this.requestedHeaders ??= value;
        break;
    }
    return undefined;
  }

  #readContentLength(value: string): GatewayRefusal | undefined {
    if (this.contentLength !== undefined || !DIGITS.test(value)) return malformed("The header content-length makes no sense");
    this.contentLength = Number(value);
    return undefined;
  }

  #readTransferEncoding(value: string): GatewayRefusal | undefined {
    if (value.toLowerCase() !== "chunked") return malformed("The only supported transfer encoding is 'chunked'");
    this.isChunked = true;
    return undefined;
  }
}

function joined(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before},${value}`;
}
