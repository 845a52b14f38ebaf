import { expect, test } from "@jest/globals";
import { SecretSearch } from "./secret-search.js";

function searchFor(...secrets: string[]): SecretSearch {
  const search = new SecretSearch();
  for (const secret of secrets) search.add(secret);
  return search;
}

test.each([
  ["at the beginning, in between and at the end", ["hunter22"], "hunter22 x hunter22 hunter22", "******** x ******** ********"],
  [
    "of which one begins another",
    ["hunter22", "hunter2", "hunter22-long"],
    "hunter2 hunter22 hunter22-long",
    "******* ******** *************",
  ],
  ["that overlap", ["abcdefgh", "efghijkl", "klmnopqr"], "-abcdefghijklmnopqr-", "-******************-"],
  ["beside each other", ["aaaaaa", "bbbbbb"], "aaaaaabbbbbb", "************"],
  ["with more bytes than characters", ["pässwörd", "😀😀😀"], "pässwörd 😀😀😀", "********** ************"],
  ["that only share their beginning", ["hunter22", "hunter33"], "hunter2 hunter3 hunter23", "hunter2 hunter3 hunter23"],
])("secrets are replaced: %s", (_, secrets, text, expected) => {
  expect(searchFor(...secrets).replaced(text)).toBe(expected);
});

test("a text without a secret is returned as it is", () => {
  const search = searchFor("hunter22");
  for (const text of ["", "hunte", "hunter2", "nothing of that kind"]) expect(search.replaced(text)).toBe(text);
  expect(new SecretSearch().replaced("hunter22")).toBe("hunter22");
});

test("a long secret is replaced as a whole, whatever its length, and so is most of a part of it", () => {
  for (const length of [255, 256, 257, 300, 511, 512, 513, 5_000]) {
    const secret = Array.from({ length }, (_, n) => String.fromCharCode(97 + ((n * n + n) % 26))).join("");
    expect(searchFor(secret).replaced(`<${secret}>`)).toBe(`<${"*".repeat(length)}>`);
  }
});

test("random secrets of a small alphabet are found exactly where they are", () => {
  let state = 7;
  const chance = (max: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % max;
  };
  const word = (length: number): string => Array.from({ length }, () => "ab"[chance(2)]).join("");
  for (let round = 0; round < 200; round++) {
    const secrets = Array.from({ length: 1 + chance(12) }, () => word(6 + chance(8)));
    const text = word(chance(200));
    const isSecret = new Uint8Array(text.length);
    for (const secret of secrets)
      for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1)) isSecret.fill(1, at, at + secret.length);
    const expected = [...text].map((char, at) => (isSecret[at] === 1 ? "*" : char)).join("");
    expect(searchFor(...secrets).replaced(text)).toBe(expected);
  }
});
