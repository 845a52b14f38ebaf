import { describe, expect, test } from "@jest/globals";
import { editToml, parseToml, type TomlEdit } from "./toml-text.js";

const LOGIN: readonly TomlEdit[] = [
  { table: ["global", "cloud"], key: "api_base_url", value: "https://api.us.perdure.dev" },
  { table: ["global", "cloud"], key: "access_token", value: "a.b.c" },
];
const LOGIN_LINES = '[global.cloud]\napi_base_url = "https://api.us.perdure.dev"\naccess_token = "a.b.c"\n';

describe("editing a user's TOML", () => {
  test("new tables stand at the end, as cloud.md §1.1 writes them", () => {
    expect(editToml("", LOGIN)).toBe(LOGIN_LINES);
    expect(editToml("# mine", LOGIN)).toBe(`# mine\n\n${LOGIN_LINES}`);
    const profile: readonly TomlEdit[] = [
      { table: ["my dev"], key: "environment_type", value: "cloud" },
      { table: ["my dev", "cloud"], key: "account_id", value: "acc_1" },
    ];
    expect(editToml(LOGIN_LINES, profile)).toBe(
      `${LOGIN_LINES}\n["my dev"]\nenvironment_type = "cloud"\n\n["my dev".cloud]\naccount_id = "acc_1"\n`,
    );
  });

  test("a value changes in its line, and every other byte stays: blanks, comments, line ends, the order of things", () => {
    const before = [
      "# first   ",
      "[other]  # keep   ",
      "environment_type   = 'cloud'   ",
      "list = [1,",
      "  2 ] # c",
      "\"quoted key\" = 'lit'",
      "day = 1979-05-27T07:32:00Z",
      "\t[ global . 'cloud' ]   # ours",
      "access_token   =\t'old'   # token",
      "# behind the table",
      "",
      "[z]",
      "f = 1.0",
      'text = """',
      "[global.cloud]",
      'access_token = "not this one"',
      '"""',
    ].join("\n");
    const after = before.replace("'old'   # token", '"a.b.c"   # token\napi_base_url = "https://api.us.perdure.dev"');
    expect(editToml(before, LOGIN)).toBe(after);
    const crlf = before.replaceAll("\n", "\r\n");
    expect(editToml(crlf, LOGIN)).toBe(after.replaceAll("\n", "\r\n"));
  });

  test("what is removed takes its line with it; what is not there stays away", () => {
    const token: TomlEdit = { table: ["global", "cloud"], key: "access_token", value: undefined };
    expect(editToml(LOGIN_LINES, [token])).toBe('[global.cloud]\napi_base_url = "https://api.us.perdure.dev"\n');
    expect(editToml("[a]\nb = 1\n", [token])).toBe("[a]\nb = 1\n");
  });

  test("notations that the text editor does not support are left to the library, and keep their values", () => {
    for (const text of [
      'global.cloud = {api_base_url="x"} # inline\n[a]\nb = 1 # one\n',
      '[global]\ncloud.access_token = "old" # dotted\n',
      '[global]\ncloud = { access_token = "old" }\n',
      "[global.cloud]\naccess_token = '''old'''\n",
      "[a]\nx = '''\n[global.cloud]\naccess_token = \"q\"\n'''\n",
    ]) {
      const was = parseToml(text);
      const is = parseToml(editToml(text, LOGIN));
      expect(is).toMatchObject({ global: { cloud: { api_base_url: "https://api.us.perdure.dev", access_token: "a.b.c" } } });
      expect(is["a"]).toEqual(was["a"]);
    }
  });

  test("strings are written so that TOML reads them back", () => {
    for (const value of ['"', "\\", "\n\t", "\u007f", "ü😀", "'", "]#"]) {
      const text = editToml("[a]\nk = 'old' # c\n", [{ table: ["a"], key: "k", value }]);
      expect(parseToml(text)).toEqual({ a: { k: value } });
      expect(text).toMatch(/# c\n$/);
    }
  });

  test("what is not TOML, and what is not a table, is refused", () => {
    expect(() => editToml("[a", LOGIN)).toThrow();
    expect(() => editToml("[global]\ncloud = 1\n", LOGIN)).toThrow("'cloud' is not a table");
  });
});
