/** Endpoint transport over AWS Lambda. */
export { regionOf } from "./arn.js";
export { createLambdaTransport, type LambdaTransportOptions } from "./lambda-transport.js";
