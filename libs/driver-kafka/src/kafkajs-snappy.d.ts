declare module "kafkajs-snappy" {
  /** Makes the codec that kafkajs asks for. */
  const snappy: () => unknown;
  export default snappy;
}
