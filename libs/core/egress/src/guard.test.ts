import { describe, expect, test } from "@jest/globals";
import { parseAllowance } from "./allowance.js";
import { createEgressGuard, type EgressAdmission, type EgressGuard, type ResolvedAddress } from "./guard.js";
import { CONNECTIONS_PER_HOST_MAX } from "./limits.js";

interface World {
  readonly guard: EgressGuard;
  readonly denials: string[];
  /** Results of the resolver, one for each look-up; the last one is repeated. */
  readonly answers: (readonly string[] | Error)[];
  readonly queries: string[];
}

function aWorld(answers: World["answers"], ...allow: readonly string[]): World {
  const denials: string[] = [];
  const queries: string[] = [];
  const allowances = allow.map((text) => parseAllowance(text)!);
  const guard = createEgressGuard(
    { allowPlainHttp: true, ownDomains: [], ownRanges: [], allowances },
    {
      resolve(hostname, done) {
        queries.push(hostname);
        const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
        if (answer instanceof Error) done(answer, []);
        else
          done(
            null,
            answer.map((address): ResolvedAddress => ({ address, family: address.includes(":") ? 6 : 4 })),
          );
      },
      onDenied: (destination, reason) => denials.push(`${destination}: ${reason}`),
    },
  );
  return { guard, denials, answers, queries };
}

function admitted(admission: EgressAdmission): Extract<EgressAdmission, { kind: "admitted" }> {
  if (admission.kind !== "admitted") throw new Error(`not admitted: ${admission.kind}`);
  return admission;
}

function lookUp(
  guard: EgressGuard,
  origin: string,
  options: { all?: boolean; family?: number } = { all: true },
): Promise<unknown> {
  const { host, lookup } = admitted(guard.admitOrigin(origin));
  return new Promise((resolve, reject) => {
    lookup(host, options, (error, address) => (error === null ? resolve(address) : reject(error)));
  });
}

describe("a look-up for a connection", () => {
  test("returns the addresses that were checked", async () => {
    const { guard } = aWorld([["93.184.216.34", "2606:2800:220::1"]]);
    expect(await lookUp(guard, "https://example.com")).toEqual([
      { address: "93.184.216.34", family: 4 },
      { address: "2606:2800:220::1", family: 6 },
    ]);
    expect(await lookUp(guard, "https://example.com", {})).toBe("93.184.216.34");
    expect(await lookUp(guard, "https://example.com", { family: 6 })).toBe("2606:2800:220::1");
  });

  test("T4: a name that resolves to an internal address for a later connection is refused, and the log has the reason", async () => {
    const { guard, denials, queries } = aWorld([["93.184.216.34"], ["127.0.0.1"]]);
    expect(await lookUp(guard, "https://rebind.example.com")).toHaveLength(1);
    await expect(lookUp(guard, "https://rebind.example.com")).rejects.toMatchObject({
      code: "ERR_EGRESS_DENIED",
      message: "destination not allowed",
    });
    expect(queries).toEqual(["rebind.example.com", "rebind.example.com"]);
    expect(denials).toEqual(["rebind.example.com: leads to 127.0.0.1: 127.0.0.0/8"]);
  });

  test.each([
    [["93.184.216.34", "10.0.0.1"]],
    [["93.184.216.34", "::ffff:169.254.169.254"]],
    [["fe80::1%eth0"]],
    [Array.from({ length: 65 }, () => "93.184.216.34")],
  ])("one refused address makes the whole name refused, for any requested family (%#)", async (answer) => {
    const { guard } = aWorld([answer]);
    await expect(lookUp(guard, "https://example.com", { family: 4 })).rejects.toMatchObject({ code: "ERR_EGRESS_DENIED" });
  });

  test("an empty result and an error of the resolver are passed on unchanged", async () => {
    const { guard } = aWorld([[], Object.assign(new Error("no such name"), { code: "ENOTFOUND" })]);
    await expect(lookUp(guard, "https://example.com")).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(lookUp(guard, "https://example.com")).rejects.toThrow("no such name");
  });

  test("an allowed host may have any address; an allowed range only its own addresses", async () => {
    const { guard } = aWorld([["10.1.0.1"], ["10.1.0.1"], ["10.2.0.1"]], "sdk.internal", "10.1.0.0/16");
    expect(await lookUp(guard, "https://sdk.internal")).toHaveLength(1);
    expect(await lookUp(guard, "https://example.com")).toHaveLength(1);
    await expect(lookUp(guard, "https://example.com")).rejects.toMatchObject({ code: "ERR_EGRESS_DENIED" });
  });
});

describe("admission", () => {
  test("denied destinations are not looked up at all", () => {
    const { guard, queries, denials } = aWorld([["93.184.216.34"]]);
    expect(guard.admitOrigin("http://169.254.169.254").kind).toBe("denied");
    expect(guard.admitEndpoint("localhost", 9092).kind).toBe("denied");
    expect(guard.allows("https://user@example.com/")).toBe(false);
    expect(queries).toEqual([]);
    expect(denials).toHaveLength(3);
  });

  test("connections to one host are counted over all its ports and notations, and released once", () => {
    const { guard } = aWorld([["93.184.216.34"]]);
    const held = Array.from({ length: CONNECTIONS_PER_HOST_MAX }, (_, i) =>
      admitted(guard.admitOrigin(`https://example.com:${10_000 + i}`)),
    );
    expect(guard.admitOrigin("https://EXAMPLE.com.").kind).toBe("full");
    expect(guard.admitOrigin("https://other.example.com").kind).toBe("admitted");
    held[0]!.release();
    held[0]!.release();
    expect(guard.admitOrigin("https://example.com").kind).toBe("admitted");
    expect(guard.admitEndpoint("example.com", 9092).kind).toBe("full");
  });
});
