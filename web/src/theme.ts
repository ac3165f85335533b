import { type MantineColorsTuple, createTheme } from '@mantine/core';

const brand: MantineColorsTuple = [
  '#e8f7fa', '#d5ecf0', '#aad8e0', '#7cc3cf', '#57b1c1', '#40a6b8', '#31a1b4', '#208c9e', '#0b7285', '#00616f',
];

/** One styling system: Mantine with these colours, sizes and defaults. */
export const theme = createTheme({
  primaryColor: 'brand',
  primaryShade: { light: 8, dark: 6 },
  autoContrast: true,
  colors: { brand },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: 'md',
  headings: { fontWeight: '600', sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.2rem' }, h3: { fontSize: '1.05rem' } } },
  components: {
    Table: { defaultProps: { verticalSpacing: 'sm', highlightOnHover: true } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Modal: { defaultProps: { centered: true } },
  },
});
