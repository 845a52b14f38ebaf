/** The known bugs that simulation must find. */
export { PLANTS } from "./plants.js";
