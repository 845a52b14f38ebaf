/**
 * Why: certificates are renewed while a server runs. The files are read again now and then; what changed holds for new connections,
 * the old ones go on with what they began with.
 */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Clock, Logger, TimerHandle } from "@perdure/base";
import type { Metrics } from "../metrics.js";
import { readSettingFile } from "../setting-file.js";

/** PEM texts: the certificate with its chain, and its key. */
export interface Certificate {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface CertificateSource {
  readonly current: Certificate;
  /** Called with each new one. */
  onChange(listener: (certificate: Certificate) => void): void;
}

export interface CertificateFiles {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
  readonly checkMs: number;
}

/** Shows when the certificate ends; without one the metric has no series. */
export function observeCertificate(metrics: Metrics, name: string, certificate: WatchedCertificate | undefined): void {
  const help = "Until the certificate of the public doors ends";
  metrics.observedEach({ type: "gauge", name, help, labels: [], seriesMax: 1 }, () =>
    certificate === undefined ? [] : [{ labels: [], value: certificate.expiresInSeconds }],
  );
}

export class WatchedCertificate implements CertificateSource, Disposable {
  readonly #files: CertificateFiles;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners: ((certificate: Certificate) => void)[] = [];
  #current: Certificate;
  #timer: TimerHandle | undefined;

  /** Throws OPS0001 when a file cannot be read, or the two do not belong together. */
  constructor(files: CertificateFiles, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#files = files;
    this.#clock = clock;
    this.#logger = logger;
    this.#current = this.#read();
    this.#arm();
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Until the certificate in use ends, in seconds; negative when it has. */
  get expiresInSeconds(): number {
    const endsAtMs = new X509Certificate(this.#current.certificate).validToDate.getTime();
    return (endsAtMs - this.#clock.nowMs()) / 1000;
  }

  onChange(listener: (certificate: Certificate) => void): void {
    this.#listeners.push(listener);
  }

  /** Looks now. What cannot be used is told and left aside: files are replaced one after the other. */
  check(): void {
    try {
      const found = this.#read();
      if (found.certificate === this.#current.certificate && found.privateKey === this.#current.privateKey) return;
      this.#current = found;
      for (const listener of this.#listeners) listener(found);
      this.#logger.info({ file: this.#files.certificateFile }, "a new certificate is in use");
    } catch (cause) {
      this.#logger.warn({ cause, file: this.#files.certificateFile }, "the new certificate cannot be used; the old one stays");
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #read(): Certificate {
    const certificate = readSettingFile("public-tls.certificate-file", this.#files.certificateFile);
    const privateKey = readSettingFile("public-tls.private-key-file", this.#files.privateKeyFile);
    createSecureContext({ cert: certificate, key: privateKey }); // Throws when they do not fit.
    return { certificate, privateKey };
  }

  #arm(): void {
    this.#timer = this.#clock.setTimer(this.#files.checkMs, () => {
      this.check();
      this.#arm();
    });
  }
}
