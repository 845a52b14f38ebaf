/** Authorities of the database are renewed while processes run; `sslrootcert` must not need a restart. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { expect, test } from "@jest/globals";
import { handleErrors } from "@perdure/base";
import { type Certificates, makeCertificates } from "@perdure/testkit";
import pg from "pg";

/** Accepts TLS as PostgreSQL does, after the client's SSLRequest, counts completed handshakes, and hangs up on what follows. */
async function tlsDatabase({ certificate, privateKey }: Certificates) {
  let handshakes = 0;
  const server = createServer((socket: Socket) => {
    handleErrors(socket);
    socket.once("data", () => {
      socket.write("S");
      const secure = new TLSSocket(socket, { isServer: true, cert: certificate, key: privateKey });
      handleErrors(secure);
      secure.once("secure", () => handshakes++);
      secure.once("data", () => secure.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    handshakes: () => handshakes,
    [Symbol.dispose]: () => void server.close(),
  };
}

test("the file of sslrootcert is read for each connection of a pool", async () => {
  const { trusted, untrusted } = await makeCertificates();
  const folder = mkdtempSync(join(tmpdir(), "perdure-sslrootcert-"));
  const file = join(folder, "ca.pem");
  using database = await tlsDatabase(untrusted);
  writeFileSync(file, trusted.authority);
  const connectionString = `postgres://user:secret@localhost:${database.port}/db?sslmode=verify-full&sslrootcert=${file}`;
  const pool = new pg.Pool({ connectionString });
  await expect(pool.connect()).rejects.toMatchObject({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
  writeFileSync(file, untrusted.authority);
  await expect(pool.connect()).rejects.toThrow(/terminated/); // The certificate was accepted; there is no database behind it.
  expect(database.handshakes()).toBe(1);
  await pool.end();
  rmSync(folder, { recursive: true });
});
