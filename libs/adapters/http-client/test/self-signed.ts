/** A self-signed certificate for 127.0.0.1, made on the spot: Node can sign but not write X.509, so its few fields are written here. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const size =
    body.length < 128 ? [body.length] : body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Uint8Array.of(tag, ...size), body]);
}
const sequence = (...content: Uint8Array[]) => der(0x30, ...content);
const oid = (...bytes: number[]) => der(0x06, Uint8Array.from(bytes));
const integer = (bytes: Uint8Array) => der(0x02, bytes);
const time = (at: Date) => der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replace(/[-:T]/g, "")}Z`));

const ecdsaSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const subjectAltName = [0x55, 0x1d, 0x11];
const commonName = [0x55, 0x04, 0x03];

export function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(oid(...commonName), der(0x0c, Buffer.from("test")))));
  const day = 86_400_000;
  const loopback = der(0x04, sequence(der(0x87, Uint8Array.of(127, 0, 0, 1)), der(0x82, Buffer.from("localhost"))));
  const certified = sequence(
    der(0xa0, integer(Uint8Array.of(2))),
    integer(Buffer.concat([Uint8Array.of(1), randomBytes(8)])),
    ecdsaSha256,
    name,
    sequence(time(new Date(Date.now() - day)), time(new Date(Date.now() + day))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(oid(...subjectAltName), loopback))),
  );
  const signature = sign("sha256", certified, privateKey);
  const certificate = sequence(certified, ecdsaSha256, der(0x03, Uint8Array.of(0), signature));
  const cert = `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), cert };
}
