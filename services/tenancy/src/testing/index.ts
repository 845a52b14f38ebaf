/** Shared code of suites around tenancy. */

export { BrowserClient, csrfOf, type PageResponse } from "../browser-client.js";
export { CONSOLE_PASSWORD, ConsolePage, type PageAnswer } from "./console-page.js";
export { linkIn, Mailbox } from "./mailbox.js";
export { type SmtpServer, startSmtp } from "./smtp.js";
export {
  MovableClock,
  openTestTenancy,
  TEST_ISSUER,
  TEST_KEYS,
  type TestTenancy,
  type TestTenancyOptions,
  type TestUser,
} from "./tenancy.js";
