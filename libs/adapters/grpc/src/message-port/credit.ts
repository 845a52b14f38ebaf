/** Flow control of one direction of a stream: the sender has a bounded number of bytes under way, and the receiver reports what it consumed. */
import { PORT_CREDIT_BYTES, PORT_MESSAGE_OVERHEAD_BYTES, PORT_REPORT_BYTES, PORT_RIDING_REPORT_BYTES } from "../limits.js";

const costOf = ({ byteLength }: Uint8Array): number => byteLength + PORT_MESSAGE_OVERHEAD_BYTES;

/** Counts for the sender. */
export class SendingCredit {
  #unconsumedBytes = 0;

  /** One message more may be sent, whatever its size. */
  get isAvailable(): boolean {
    return this.#unconsumedBytes < PORT_CREDIT_BYTES;
  }

  sent(message: Uint8Array): void {
    this.#unconsumedBytes += costOf(message);
  }

  consumed(bytes: number): void {
    this.#unconsumedBytes -= bytes;
  }
}

/** Counts for the receiver. A report is never held back while the sender waits: it waits with at least `PORT_CREDIT_BYTES` under way. */
export class ReceivingCredit {
  #unreportedBytes = 0;

  consumed(message: Uint8Array): void {
    this.#unreportedBytes += costOf(message);
  }

  /** Bytes to report now; 0: later. `isRiding`: a message goes to the sender anyway. */
  report(isRiding: boolean): number {
    const bytes = this.#unreportedBytes;
    if (bytes < (isRiding ? PORT_RIDING_REPORT_BYTES : PORT_REPORT_BYTES)) return 0;
    this.#unreportedBytes = 0;
    return bytes;
  }
}
