/** The logo of the product. */
export function Logo({ size = 28 }: { size?: number }) {
  return (
    <img
      src={`${import.meta.env.BASE_URL}favicon.svg`}
      width={size}
      height={size}
      alt=""
      style={{ display: 'block' }}
    />
  );
}
