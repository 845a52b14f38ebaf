declare module "kafkajs-snappy" {
  /** Creates the codec in the form that kafkajs expects. */
  const snappy: () => unknown;
  export default snappy;
}
