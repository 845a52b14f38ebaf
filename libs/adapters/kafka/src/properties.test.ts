import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectionOptions, PeerCertificate } from "node:tls";
import { describe, expect, test } from "@jest/globals";
import type { SASLOptions } from "kafkajs";
import { clientSettings } from "./properties.js";

const BROKERS = { "bootstrap.servers": "a:1,b", "group.id": "g" };

describe("librdkafka properties", () => {
  test("set brokers, the group and the first offset", () => {
    const settings = clientSettings({
      ...BROKERS,
      "client.id": "me",
      "auto.offset.reset": "smallest",
      "session.timeout.ms": "6000",
    });
    expect(settings).toMatchObject({
      kafka: { brokers: ["a:1", "b:9092"], clientId: "me" },
      consumer: { groupId: "g", sessionTimeout: 6_000, readUncommitted: false },
      fromBeginning: true,
      ignored: [],
    });
    expect(settings.kafka).not.toHaveProperty("ssl");
    expect(settings.kafka).not.toHaveProperty("sasl");
  });

  test("have the defaults of librdkafka: the newest records, committed ones only", () => {
    expect(clientSettings({ "metadata.broker.list": "PLAINTEXT://a:1, b:2", "group.id": "g" })).toMatchObject({
      kafka: { brokers: ["a:1", "b:2"], clientId: "restate" },
      consumer: { sessionTimeout: 10_000, heartbeatInterval: 3_000, maxBytesPerPartition: 1_048_576 },
      fromBeginning: false,
    });
  });

  test.each([
    ["plain", "PLAIN"],
    ["scram-sha-256", "SCRAM-SHA-256"],
    ["scram-sha-512", "scram-sha-512"],
  ])("carry credentials for %s", (mechanism, written) => {
    const { kafka } = clientSettings({
      ...BROKERS,
      "security.protocol": "SASL_SSL",
      "sasl.mechanism": written,
      "sasl.username": "u",
      "sasl.password": "p",
    });
    expect(kafka.sasl).toEqual({ mechanism, username: "u", password: "p" });
    expect(kafka.ssl).toEqual({ rejectUnauthorized: true });
  });

  test("create IAM tokens for MSK with the credentials of the environment", async () => {
    const before = { ...process.env };
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" });
    try {
      const { kafka } = clientSettings({
        ...BROKERS,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.oauthbearer.config": "region=eu-central-1",
      });
      const sasl = kafka.sasl as Extract<SASLOptions, { mechanism: "oauthbearer" }>;
      expect(sasl.mechanism).toBe("oauthbearer");
      const { value } = await sasl.oauthBearerProvider();
      expect(Buffer.from(value, "base64url").toString()).toContain("X-Amz-Credential=AKIDEXAMPLE%2F");
    } finally {
      process.env = before;
    }
  });

  test("turn verification of certificates off only explicitly", () => {
    const { kafka } = clientSettings({
      ...BROKERS,
      "security.protocol": "ssl",
      "enable.ssl.certificate.verification": "false",
      "ssl.ca.pem": "-----BEGIN\\nCA",
      "ssl.key.password": "k",
    });
    expect(kafka.ssl).toEqual({ rejectUnauthorized: false, ca: "-----BEGIN\nCA", passphrase: "k" });
  });

  test("set a client certificate, as text or as files, and verify the broker's name by default", () => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-kafka-"));
    const file = join(folder, "key.pem");
    writeFileSync(file, "KEY");
    const secured = { ...BROKERS, "security.protocol": "ssl", "ssl.certificate.pem": "CERT", "ssl.key.location": file };
    const named = clientSettings(secured).kafka.ssl as ConnectionOptions;
    expect(named).toEqual({ rejectUnauthorized: true, cert: "CERT", key: "KEY" });
    const unnamed = clientSettings({ ...secured, "ssl.endpoint.identification.algorithm": "none" }).kafka
      .ssl as ConnectionOptions;
    expect(unnamed.checkServerIdentity?.("another.example", {} as PeerCertificate)).toBeUndefined();
    expect(unnamed.rejectUnauthorized).toBe(true);
    rmSync(folder, { recursive: true });
  });

  test("without an effect here are listed as ignored, including those about committing", () => {
    expect(clientSettings({ ...BROKERS, "enable.auto.commit": "false", statistics: "1", debug: "all" }).ignored).toEqual([
      "statistics",
      "debug",
    ]);
  });

  test.each([
    [{ "bootstrap.servers": " , " }, "bootstrap.servers"],
    [{ ...BROKERS, "security.protocol": "kerberos" }, "security.protocol"],
    [{ ...BROKERS, "session.timeout.ms": "soon" }, "session.timeout.ms"],
    [{ ...BROKERS, "security.protocol": "sasl_plaintext" }, "sasl.username"],
    [{ ...BROKERS, "security.protocol": "sasl_ssl", "sasl.mechanisms": "GSSAPI" }, "sasl.mechanisms"],
    [{ ...BROKERS, "security.protocol": "sasl_ssl", "sasl.mechanisms": "OAUTHBEARER" }, "sasl.oauthbearer.token.endpoint.url"],
    [{ ...BROKERS, "security.protocol": "sasl_plaintext", "sasl.mechanisms": "AWS_MSK_IAM" }, "sasl_ssl"],
    [{ ...BROKERS, "security.protocol": "sasl_ssl", "sasl.mechanisms": "AWS_MSK_IAM" }, "sasl.oauthbearer.config"],
    [{ ...BROKERS, "security.protocol": "ssl", "ssl.ca.location": "/nowhere/at/all.pem" }, "/nowhere/at/all.pem"],
  ])("that cannot be are refused by name: %j", (properties, named) => {
    expect(() => clientSettings(properties as Record<string, string>)).toThrow(named);
  });
});
