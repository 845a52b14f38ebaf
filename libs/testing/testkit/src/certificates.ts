/** Encrypted connections are tested with real certificates, made for one test run without any program of the machine. */

/** PEM texts: a certificate for 127.0.0.1 and localhost, its key (PKCS #8), and the authority that signed it. */
export interface Certificates {
  readonly authority: string;
  readonly certificate: string;
  readonly privateKey: string;
}

/** Certificates of two authorities, neither of which trusts the other. */
export async function makeCertificates(): Promise<{ readonly trusted: Certificates; readonly untrusted: Certificates }> {
  // Imported on first use: most suites that import the testkit make no certificate, and the library behind it is large.
  const { issue } = await import("./issue-certificate.js");
  return { trusted: await issue("house"), untrusted: await issue("elsewhere") };
}
