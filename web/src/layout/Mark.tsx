/** The mark of the product. */
export function Mark({ size = 28 }: { size?: number }) {
  return <img src="/favicon.svg" width={size} height={size} alt="" style={{ display: 'block' }} />;
}
