/** The part of `certificates.ts` that needs a large library, apart so that it is loaded only where certificates are made. */
import "reflect-metadata"; // The library below requires it.
import { webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { Certificates } from "./certificates.js";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;

/** The library's types name the keys and the Web Crypto interface of browsers; whether Node's are assignable to them depends on which declarations are merged first. */
const forLibrary = (keyOrCrypto: object): never => keyOrCrypto as never;

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

/** `name`: of a new authority, which signs one certificate. */
export async function issue(name: string): Promise<Certificates> {
  const [authorityKeys, keys] = await Promise.all([newKeys(), newKeys()]);
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + DAY_MS) };
  const authority = await X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [name] }],
      keys: forLibrary(authorityKeys),
      ...validity,
      signingAlgorithm: ALGORITHM,
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    },
    forLibrary(webcrypto),
  );
  const names = [{ type: "ip", value: "127.0.0.1" } as const, { type: "dns", value: "localhost" } as const];
  const certificate = await X509CertificateGenerator.create(
    {
      subject: [{ CN: ["role"] }],
      issuer: authority.subjectName,
      publicKey: forLibrary(keys.publicKey),
      signingKey: forLibrary(authorityKeys.privateKey),
      ...validity,
      signingAlgorithm: ALGORITHM,
      extensions: [new SubjectAlternativeNameExtension(names)],
    },
    forLibrary(webcrypto),
  );
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    authority: `${authority.toString("pem")}\n`,
    certificate: `${certificate.toString("pem")}\n`,
    privateKey: `${PemConverter.encode(key, PemConverter.PrivateKeyTag)}\n`,
  };
}
