/**
 * Certificates by which the processes of an environment authenticate each other. Each environment has an authority of its own, so that a
 * process of another environment is never accepted. P-256, because every TLS library has it and its handshake is cheap.
 */
import "reflect-metadata"; // The library below requires it.
import { webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { Secret } from "@perdure/base";
import { AUTHORITY_DAYS, CERTIFICATE_DAYS, CLOCK_SKEW_MS } from "./limits.js";

/** PEM texts; the key is PKCS#8. */
export interface KeyedCertificate {
  readonly certificate: string;
  readonly privateKey: Secret;
}

/** Names in a certificate by which clients verify the process. */
export interface CertificateNames {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;

type GeneratedKeys = Awaited<ReturnType<typeof newKeys>>;
const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

/** `nowMs`: milliseconds since 1970, here and below. */
export async function newAuthority(name: string, nowMs: number): Promise<KeyedCertificate> {
  return selfSigned(name, await newKeys(), nowMs);
}

/** Issues a later certificate for the same key: a client that trusts either certificate accepts what the key signed. */
export async function renewAuthority(name: string, { privateKey }: KeyedCertificate, nowMs: number): Promise<KeyedCertificate> {
  return selfSigned(name, await keysOf(privateKey), nowMs);
}

async function selfSigned(name: string, keys: GeneratedKeys, nowMs: number): Promise<KeyedCertificate> {
  const made = await X509CertificateGenerator.createSelfSigned(
    {
      name: [{ CN: [name] }],
      keys,
      ...validFor(AUTHORITY_DAYS, nowMs),
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ],
    },
    webcrypto,
  );
  return { certificate: pemOf(made), privateKey: await privateKeyPem(keys) };
}

/** Issues a certificate for servers and clients alike, because each role is both. */
export async function issueCertificate(
  authority: KeyedCertificate,
  names: CertificateNames,
  nowMs: number,
): Promise<KeyedCertificate> {
  const issuer = new X509Certificate(authority.certificate);
  const keys = await newKeys();
  const made = await X509CertificateGenerator.create(
    {
      subject: [{ CN: ["perdure-runtime"] }],
      issuer: issuer.subjectName,
      publicKey: keys.publicKey,
      signingKey: (await keysOf(authority.privateKey)).privateKey,
      ...validFor(CERTIFICATE_DAYS, nowMs),
      signingAlgorithm: ALGORITHM,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension([
          ...names.dns.map((value) => ({ type: "dns", value }) as const),
          ...names.ip.map((value) => ({ type: "ip", value }) as const),
        ]),
      ],
    },
    webcrypto,
  );
  return { certificate: pemOf(made), privateKey: await privateKeyPem(keys) };
}

/** Milliseconds since 1970 of its end. Throws for what is not a certificate. */
export const endOf = (certificate: string): number => new X509Certificate(certificate).notAfter.getTime();

/** Whether the certificate is for all of these names. */
export function isFor(certificate: string, names: CertificateNames): boolean {
  const extension = new X509Certificate(certificate).getExtension(SubjectAlternativeNameExtension);
  const subjectNames = new Set(extension?.names.items.map(({ value }) => value));
  return [...names.dns, ...names.ip].every((name) => subjectNames.has(name));
}

function validFor(days: number, nowMs: number) {
  return { notBefore: new Date(nowMs - CLOCK_SKEW_MS), notAfter: new Date(nowMs + days * DAY_MS) };
}

const pemOf = (certificate: X509Certificate): string => `${certificate.toString("pem")}\n`;

async function privateKeyPem(keys: GeneratedKeys): Promise<Secret> {
  const bytes = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return new Secret(`${PemConverter.encode(bytes, PemConverter.PrivateKeyTag)}\n`);
}

async function keysOf(privateKey: Secret): Promise<GeneratedKeys> {
  const [bytes] = PemConverter.decode(privateKey.reveal());
  if (bytes === undefined) throw new TypeError("this is not a private key in PEM");
  const key = await webcrypto.subtle.importKey("pkcs8", bytes, ALGORITHM, true, ["sign"]);
  const { x, y } = await webcrypto.subtle.exportKey("jwk", key);
  const jwk = { kty: "EC", crv: ALGORITHM.namedCurve, ...(x === undefined ? {} : { x }), ...(y === undefined ? {} : { y }) };
  return { privateKey: key, publicKey: await webcrypto.subtle.importKey("jwk", jwk, ALGORITHM, true, ["verify"]) };
}
