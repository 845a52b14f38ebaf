import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { parseRange } from "./address.js";
import { parseAllowance } from "./allowance.js";
import { checkEndpoint, checkUrl, type EgressRules, refusalOfAddress } from "./policy.js";

const RULES: EgressRules = {
  allowPlainHttp: true,
  ownDomains: ["perdure.example"],
  ownRanges: [parseRange("93.184.217.0/24")!],
  allowances: [],
};

/** Rules with the operator's exceptions. */
function except(...texts: readonly string[]): EgressRules {
  return { ...RULES, allowances: texts.map((text) => parseAllowance(text)!) };
}

const REFUSED: readonly string[] = [
  // one address, in all its notations
  "http://127.0.0.1:9080/",
  "http://2130706433:9080/",
  "http://0x7f000001:9080/",
  "http://0x7f.1:9080/",
  "http://017700000001:9080/",
  "http://127.1:9080/",
  "http://127.0.1:9080/",
  "http://0177.0.0.1:9080/",
  "http://127.0.0.1.:9080/",
  "http://%31%32%37.0.0.1:9080/",
  "http://１２７.0.0.1:9080/",
  "http://127。0。0。1:9080/",
  "http://[::1]:9080/",
  "http://[0:0:0:0:0:0:0:1]:9080/",
  "http://[::ffff:127.0.0.1]:9080/",
  "http://[::ffff:7f00:1]:9080/",
  "http://[::127.0.0.1]:9080/",
  "http://[64:ff9b::127.0.0.1]:9080/",
  "http://[2002:7f00:1::]:9080/",
  // metadata services
  "http://169.254.169.254/latest/meta-data/",
  "http://2852039166/",
  "http://0xa9fea9fe/",
  "http://169.16689662/",
  "http://[::ffff:169.254.169.254]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[64:ff9b::a9fe:a9fe]/",
  "http://[64:ff9b:1::a9fe:a9fe]/",
  "http://[2002:a9fe:a9fe::1]/",
  "http://[fd00:ec2::254]/",
  "http://100.100.100.200/",
  "http://168.63.129.16/",
  "http://192.0.0.192/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://metadata.google.internal./",
  "http://METADATA.GOOGLE.INTERNAL/",
  // the other ranges
  "http://0.0.0.0:9080/",
  "http://0:9080/",
  "http://10.0.0.1:9080/",
  "http://100.64.0.1:9080/",
  "http://172.16.0.1:9080/",
  "http://172.31.255.255:9080/",
  "http://192.0.2.1:9080/",
  "http://192.88.99.1:9080/",
  "http://192.168.1.1:9080/",
  "http://198.18.0.1:9080/",
  "http://198.51.100.1:9080/",
  "http://203.0.113.1:9080/",
  "http://224.0.0.1:9080/",
  "http://240.0.0.1:9080/",
  "http://255.255.255.255:9080/",
  "http://[::]:9080/",
  "http://[100::1]:9080/",
  "http://[2001::1]:9080/",
  "http://[2001:db8::1]:9080/",
  "http://[3fff::1]:9080/",
  "http://[fc00::1]:9080/",
  "http://[fe80::1]:9080/",
  "http://[fec0::1]:9080/",
  "http://[ff02::1]:9080/",
  "http://[4000::1]:9080/",
  // names that are internal
  "http://localhost:9080/",
  "http://localhost.:9080/",
  "http://localhost..:9080/",
  "http://LOCALHOST:9080/",
  "http://ｌｏｃａｌｈｏｓｔ:9080/",
  "http://loc%61lhost:9080/",
  "http://api.localhost:9080/",
  "http://redis:9080/",
  "http://redis.:9080/",
  "http://printer.local:9080/",
  "http://registry.default.svc:9080/",
  "http://registry.default.svc.cluster.local:9080/",
  "http://a..example.com:9080/",
  "http://a,b.example.com:9080/",
  // the platform's own
  "https://api.perdure.example/",
  "https://API.Perdure.Example./",
  "https://perdure.example/",
  "https://2abc.env.eu.perdure.example:8080/",
  "https://tunnel.eu.perdure.example:9080/2other/t/http/localhost/9080/",
  "https://ａｐｉ.perdure.example/",
  "https://93.184.217.7/",
  "https://[::ffff:93.184.217.7]/",
  // ports
  "https://example.com:22/",
  "https://example.com:25/",
  "https://example.com:80/",
  "https://example.com:2375/",
  "https://example.com:2380/",
  "https://example.com:3306/",
  "https://example.com:5432/",
  "https://example.com:6379/",
  "https://example.com:10250/",
  "https://example.com:11211/",
  "https://example.com:0/",
  // notation
  "https://user:secret@example.com/",
  "https://example.com@127.0.0.1:9080/",
  "https://@example.com/",
  "https://127.0.0.1:9080\\@example.com/",
  "https://example.com/#fragment",
  "https://example.com/#",
  "ftp://example.com/",
  "file:///etc/passwd",
  "gopher://example.com:6379/_INFO",
  "unix:///var/run/docker.sock",
  "javascript:alert(1)",
  "data:text/plain,hello",
  "//example.com/",
  "example.com",
  "https://",
  "https://exa mple.com/",
  "tunnel://t",
  "tunnel://-t:9080",
  "tunnel://user@t:9080",
  "tunnel://t:9080?q",
  "",
];

describe("destinations as they are written", () => {
  test("the table of refused ones is as long as the threat model requires", () => {
    expect(new Set(REFUSED).size).toBe(REFUSED.length);
    expect(REFUSED.length).toBeGreaterThanOrEqual(60);
  });

  test.each(REFUSED)("T4, T6: '%s' is refused", (url) => {
    expect(checkUrl(RULES, url)).toEqual({ kind: "denied", reason: expect.any(String) });
  });

  test.each([
    ["https://example.com/", "example.com"],
    ["https://example.com./sdk", "example.com"],
    ["https://EXAMPLE.com:8443/a?b=c", "example.com"],
    ["https://example.com:9080/", "example.com"],
    ["http://example.com/", "example.com"],
    ["https://bücher.example.com/", "xn--bcher-kva.example.com"],
    ["https://my_service.example.com/", "my_service.example.com"],
    ["https://notperdure.example/", "notperdure.example"],
    ["https://localhost.example.com/", "localhost.example.com"],
    ["https://93.184.216.34/", "93.184.216.34"],
    ["https://[2606:2800:220:1:248:1893:25c8:1946]/", "2606:2800:220:1:248:1893:25c8:1946"],
    ["https://[::ffff:93.184.216.34]/", "::ffff:5db8:d822"],
    ["https://[64:ff9b::93.184.216.34]/", "64:ff9b::5db8:d822"],
    ["tunnel://laptop:9080/path", "laptop"],
  ])("'%s' is allowed", (url, host) => {
    expect(checkUrl(RULES, url)).toEqual({ kind: "allowed", host, isTrusted: false });
  });

  test("plain http is refused when the plan does not include it", () => {
    const rules = { ...RULES, allowPlainHttp: false };
    expect(checkUrl(rules, "http://example.com/").kind).toBe("denied");
    expect(checkUrl(rules, "https://example.com/").kind).toBe("allowed");
  });

  test.each([
    ["kafka.example.com", 9092, "allowed"],
    ["93.184.216.34", 9092, "allowed"],
    ["2606:2800::1", 9092, "allowed"],
    ["10.0.0.1", 9092, "denied"],
    ["0x7f.1", 9092, "denied"],
    ["::ffff:10.0.0.1", 9092, "denied"],
    ["fe80::1%eth0", 9092, "denied"],
    ["kafka-0.kafka.default.svc.cluster.local", 9092, "denied"],
    ["kafka", 9092, "denied"],
    ["example.com/", 9092, "denied"],
    ["user@example.com", 9092, "denied"],
    ["", 9092, "denied"],
    ["example.com", 6379, "denied"],
    ["example.com", 99_999, "denied"],
  ])("a broker at %s:%i is %s", (host, port, kind) => {
    expect(checkEndpoint(RULES, host, port).kind).toBe(kind);
  });
});

describe("exceptions of the operator", () => {
  test("an allowed range allows only its addresses", () => {
    const rules = except("10.1.0.0/16");
    expect(checkUrl(rules, "http://10.1.2.3:9080/").kind).toBe("allowed");
    expect(checkUrl(rules, "http://10.2.2.3:9080/").kind).toBe("denied");
    expect(checkUrl(rules, "http://10.1.2.3:6379/").kind).toBe("denied");
    expect(refusalOfAddress(rules, "10.1.0.9")).toBeUndefined();
  });

  test("an allowed host is trusted with any address; a star allows all names below it, and not the name itself", () => {
    const trusted = { kind: "allowed", host: "sdk.internal", isTrusted: true };
    expect(checkUrl(except("sdk.internal"), "https://SDK.internal./")).toEqual(trusted);
    expect(checkUrl(except("*.internal"), "https://sdk.internal/")).toEqual(trusted);
    expect(checkUrl(except("sdk.internal"), "https://a.sdk.internal/").kind).toBe("denied");
    expect(checkUrl(except("*.internal"), "https://internal/").kind).toBe("denied");
    expect(checkUrl(except("sdk.internal"), "https://sdk.internal:22/").kind).toBe("denied");
  });

  test("an allowed place allows paths below its own, and refuses every notation that leaves it", () => {
    const rules = { ...except("http://127.0.0.1:81/2abc/"), allowPlainHttp: false };
    expect(checkUrl(rules, "http://127.0.0.1:81/2abc/t/http/localhost/9080/")).toEqual({
      kind: "allowed",
      host: "127.0.0.1",
      isTrusted: true,
    });
    for (const path of ["/", "/2abcd/", "/2other/", "/2abc/../2other/", "/2abc/%2e%2e/2other/", "/2abc/..\\2other/"])
      expect(checkUrl(rules, `http://127.0.0.1:81${path}`).kind).toBe("denied");
    expect(checkUrl(rules, "http://127.0.0.1:82/2abc/").kind).toBe("denied");
    expect(checkUrl(rules, "https://127.0.0.1:81/2abc/").kind).toBe("denied");
  });

  test("a place at a public origin refuses the origin's other paths, because connections are shared by origin", () => {
    const rules = except("https://partner.example.com/sdk");
    expect(checkUrl(rules, "https://partner.example.com/sdk/a").kind).toBe("allowed");
    expect(checkUrl(rules, "https://partner.example.com/").kind).toBe("denied");
  });

  test.each(["10.1.0.0/15/2", "10.1.0.1/16", "a b", "", "*.", "ftp://example.com/", "https://u@example.com/", "https://a.b/?q"])(
    "'%s' is not an exception",
    (text) => expect(parseAllowance(text)).toBeUndefined(),
  );
});

describe("T4: an address of a refused range", () => {
  const RANGES = [
    ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
    ...["192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"],
    ...["224.0.0.0/4", "240.0.0.0/4", "168.63.129.16", "93.184.217.0/24"],
  ].map((text) => parseRange(text)!);
  const V6 = [
    ...["::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
    ...["fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
  ].map((text) => parseRange(text)!);

  const v4 = fc
    .tuple(fc.constantFrom(...RANGES), fc.bigInt(0n, 2n ** 32n - 1n))
    .map(([{ bits, length }, noise]) => Number(bits | (noise & ((1n << BigInt(32 - length)) - 1n))));
  const hex = (value: number) => value.toString(16);
  const bytesOf = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255] as const;
  const dotted = (value: number) => bytesOf(value).join(".");
  const grouped = (value: number) => `${hex(value >>> 16)}:${hex(value & 0xffff)}`;

  const notations: readonly ((value: number) => string)[] = [
    dotted,
    String,
    (value) => `0x${hex(value)}`,
    (value) => `0${value.toString(8)}`,
    (value) => `${value >>> 24}.${value & 0xff_ffff}`,
    (value) => `0x${hex(value >>> 24)}.${(value >>> 16) & 255}.${value & 0xffff}`,
    (value) => bytesOf(value).map((byte) => `0${byte.toString(8)}`).join("."), // biome-ignore format: one line says it
    (value) => bytesOf(value).map((byte) => `0X${hex(byte).toUpperCase()}`).join("."), // biome-ignore format: one line says it
    (value) => `${dotted(value)}.`,
    (value) => `[::ffff:${dotted(value)}]`,
    (value) => `[0:0:0:0:0:FFFF:${grouped(value)}]`,
    (value) => `[64:ff9b::${grouped(value)}]`,
    (value) => `[64:ff9b::${dotted(value)}]`,
    (value) => `[2002:${grouped(value)}::1]`,
    (value) => `[::${dotted(value)}]`,
  ];

  test("is refused in every notation", () => {
    fc.assert(
      fc.property(v4, fc.constantFrom(...notations), (value, write) => {
        expect(checkUrl(RULES, `http://${write(value)}:9080/`).kind).toBe("denied");
      }),
      { numRuns: 1_000 },
    );
  });

  test("is refused as an answer to a look-up", () => {
    const v6 = fc
      .tuple(fc.constantFrom(...V6), fc.bigInt(0n, 2n ** 128n - 1n))
      .map(([{ bits, length }, noise]) => bits | (noise & ((1n << BigInt(128 - length)) - 1n)))
      .map((bits) => (bits.toString(16).padStart(32, "0").match(/.{4}/g) ?? []).join(":"));
    const answers = fc.oneof(
      v4.map(dotted),
      v4.map((value) => `::ffff:${grouped(value)}`),
      v6,
    );
    fc.assert(
      fc.property(answers, (address) => {
        expect(refusalOfAddress(RULES, address)).toEqual(expect.any(String));
      }),
      { numRuns: 1_000 },
    );
  });

  test("is refused, while the adjacent public addresses are allowed", () => {
    for (const address of [
      "9.255.255.255",
      "11.0.0.0",
      "100.63.0.1",
      "100.128.0.0",
      "172.32.0.1",
      "192.169.0.1",
      "223.255.255.255",
    ])
      expect(refusalOfAddress(RULES, address)).toBeUndefined();
    for (const address of ["2001:200::1", "2606:4700::1111", "2a00:1450:4001::1"])
      expect(refusalOfAddress(RULES, address)).toBeUndefined();
  });
});
