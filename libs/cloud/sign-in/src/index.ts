/** Serves the pages where users sign in and up, confirm their presence, and allow devices. */

export { Browser } from "./browser.js";
export { confirmByPassword, confirmedUntilMs } from "./confirmations.js";
export { PageSessions } from "./pages/page-sessions.js";
export { type LoginOptions, openLogin } from "./sign-in.js";
