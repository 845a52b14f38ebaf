export { FakeStream, FakeTransport } from "./fake-transport.js";
