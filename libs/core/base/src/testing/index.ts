export { anyText } from "./any-text.js";
