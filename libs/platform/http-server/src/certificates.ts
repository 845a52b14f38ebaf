/**
 * Certificates are renewed while a server runs: the files are read again regularly; new connections use the changed certificate, open
 * connections continue with theirs.
 */
import { X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Clock, causeMessage, type Logger, PerdureError, type TimerHandle } from "@perdure/base";

/** PEM texts: the certificate with its chain, and its key. */
export interface Certificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/** `T`: the content of the files, a certificate at least. */
interface RenewedSource<T> {
  readonly current: T;
  /** Called with each new one. */
  onChange(listener: (renewed: T) => void): void;
}

export type CertificateSource = RenewedSource<Certificate>;

interface WatchOptions<T> {
  /** Throws when a file cannot be read, or the contents do not fit together. */
  readonly read: () => T;
  /** Shown in the log. */
  readonly file: string;
  readonly checkMs: number;
}

/** Reads the files by name each time, so a directory whose symbolic link is exchanged, as Kubernetes does with Secrets, is followed. */
export class WatchedCertificate<T extends Pick<Certificate, "certificate">> implements RenewedSource<T>, Disposable {
  readonly #options: WatchOptions<T>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners: ((renewed: T) => void)[] = [];
  #current: T;
  /** Error of the last failed check: the same error is logged once. */
  #problem: string | undefined;
  #timer: TimerHandle | undefined;

  /** Throws what `read` throws. */
  constructor(options: WatchOptions<T>, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#options = options;
    this.#clock = clock;
    this.#logger = logger;
    this.#current = options.read();
    this.#arm();
  }

  get current(): T {
    return this.#current;
  }

  /** Until the certificate in use ends, in seconds; negative when it has. */
  get expiresInSeconds(): number {
    const endsAtMs = new X509Certificate(this.#current.certificate).validToDate.getTime();
    return (endsAtMs - this.#clock.nowMs()) / 1000;
  }

  onChange(listener: (renewed: T) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads the files now. What cannot be used is logged and left aside: files may be replaced one after the other. */
  check(): void {
    const { read, file } = this.#options;
    try {
      const current = read();
      this.#problem = undefined;
      if (isDeepStrictEqual(current, this.#current)) return;
      this.#current = current;
      for (const listener of this.#listeners) listener(current);
      this.#logger.info({ file }, "a new certificate is in use");
    } catch (cause) {
      const problem = causeMessage(cause);
      if (problem === this.#problem) return;
      this.#problem = problem;
      const { code } = cause instanceof PerdureError ? cause : new PerdureError("OPS0001", problem);
      this.#logger.warn({ code, cause: problem, file }, "the new certificate cannot be used; the old one stays");
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#clock.setTimer(this.#options.checkMs, () => {
      this.check();
      this.#arm();
    });
  }
}
