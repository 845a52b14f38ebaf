/**
 * Certificates between roles are renewed while processes run: new connections use the certificate that is current then, open connections
 * continue with theirs. The certificate providers of grpc-js are its published interface for that, though marked experimental.
 */
import type { experimental } from "@grpc/grpc-js";
import type { MutualTls } from "./connection.js";

export interface RenewableTls {
  readonly current: MutualTls;
  /** Called with each new one, as long as the process runs. */
  onChange(listener: (renewed: MutualTls) => void): void;
}

/** One for each source: credentials come and go with channels, sources keep their listeners. */
const providers = new WeakMap<RenewableTls, Provider>();

export function providerOf(source: RenewableTls): experimental.CertificateProvider {
  let provider = providers.get(source);
  if (provider === undefined) {
    provider = new Provider(source);
    providers.set(source, provider);
  }
  return provider;
}

/** Calls a new listener later: credentials of servers add it before the object that it updates exists. */
class Provider implements experimental.CertificateProvider {
  readonly #source: RenewableTls;
  readonly #authorities = new Set<experimental.CaCertificateUpdateListener>();
  readonly #identities = new Set<experimental.IdentityCertificateUpdateListener>();

  constructor(source: RenewableTls) {
    this.#source = source;
    source.onChange(() => {
      for (const listener of this.#authorities) this.#showAuthority(listener);
      for (const listener of this.#identities) this.#showIdentity(listener);
    });
  }

  addCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#authorities.add(listener);
    queueMicrotask(() => this.#authorities.has(listener) && this.#showAuthority(listener));
  }

  removeCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#authorities.delete(listener);
  }

  addIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#identities.add(listener);
    queueMicrotask(() => this.#identities.has(listener) && this.#showIdentity(listener));
  }

  removeIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#identities.delete(listener);
  }

  #showAuthority(listener: experimental.CaCertificateUpdateListener): void {
    listener({ caCertificate: Buffer.from(this.#source.current.authority) });
  }

  #showIdentity(listener: experimental.IdentityCertificateUpdateListener): void {
    const { certificate, privateKey } = this.#source.current;
    listener({ certificate: Buffer.from(certificate), privateKey: Buffer.from(privateKey) });
  }
}
