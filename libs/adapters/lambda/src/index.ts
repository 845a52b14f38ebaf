/** Implements the endpoint transport over AWS Lambda Invoke. */
export { regionOf } from "./arn.js";
export { createLambdaTransport } from "./lambda-transport.js";
