import { type CSSVariablesResolver, DEFAULT_THEME, type MantineColorsTuple, createTheme } from '@mantine/core';

const brand: MantineColorsTuple = [
  '#e8f7fa',
  '#d5ecf0',
  '#aad8e0',
  '#7cc3cf',
  '#57b1c1',
  '#40a6b8',
  '#31a1b4',
  '#208c9e',
  '#0b7285',
  '#00616f',
];

// Grays for the dark scheme with a little of the brand's hue. From text to the deepest surface.
const dark: MantineColorsTuple = [
  '#cad2d4',
  '#b3bec1',
  '#829095',
  '#67757a',
  '#3d494d',
  '#313b3f',
  '#273033',
  '#1c2326',
  '#161c1e',
  '#0f1415',
];

/** One styling system: Mantine's tokens and components with these colors, sizes and defaults. */
export const theme = createTheme({
  respectReducedMotion: true,
  primaryColor: 'brand',
  primaryShade: 8,
  autoContrast: true,
  colors: { brand, dark },
  fontFamily: '"Geist Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  defaultRadius: 'md',
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.2rem' }, h3: { fontSize: '1.05rem' } },
  },
  components: {
    Table: {
      defaultProps: {
        verticalSpacing: 'var(--row-spacing)', // the density, see style.css
        highlightOnHover: true,
        highlightOnHoverColor: 'var(--mantine-color-default-hover)',
      },
    },
    TableScrollContainer: { defaultProps: { type: 'native', tabIndex: 0, pos: 'relative' } }, // scrollable by keyboard; clips visually hidden text
    Badge: { defaultProps: { variant: 'light', tt: 'none', fw: 600, miw: 'max-content' } }, // never truncated in a narrow column
    // The color of primary buttons has less than 3:1 on the dark page; that of links has 4.5:1.
    Tabs: { defaultProps: { color: 'var(--mantine-color-anchor)' } },
    Progress: { defaultProps: { color: 'var(--mantine-color-anchor)' } },
    NumberInput: { defaultProps: { clampBehavior: 'none' } }, // validation rejects a value; the field never changes it
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } }, // opening a menu focuses its first item
    Modal: {
      defaultProps: {
        centered: true,
        closeButtonProps: { 'aria-label': 'Close' },
        transitionProps: { transition: 'fade' }, // a button that moves under the pointer misses a click
      },
      styles: {
        // A dialog is above the page: in the dark, it is lighter than the page, as menus are.
        content: { backgroundColor: 'var(--surface-raised)' },
        header: { backgroundColor: 'var(--surface-raised)' },
      },
    },
    ModalHeader: { defaultProps: { role: 'none' } }, // not a banner of the page
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/** Returns the background of badges and alerts in the dark: the deepest shade of a color, muted by the page's gray. */
const tint = (name: string, percent: number) =>
  `color-mix(in srgb, var(--mantine-color-${name}-9), var(--mantine-color-dark-8) ${percent}%)`;

/**
 * The colors of surfaces and borders by scheme, and text colors that have a contrast of at least 4.5:1 on these
 * surfaces, which WCAG AA requires. Mantine's text colors have less.
 */
export const contrast: CSSVariablesResolver = () => {
  const light: Record<string, string> = {
    '--surface-raised': 'var(--mantine-color-white)',
    '--border': 'var(--mantine-color-gray-3)',
    '--mantine-color-default-hover': 'var(--mantine-color-gray-1)',
    '--mantine-color-dimmed': 'var(--mantine-color-gray-7)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-7)',
    '--mantine-color-error': 'var(--mantine-color-red-text)',
  };
  const dark: Record<string, string> = {
    '--surface-raised': 'var(--mantine-color-dark-6)',
    '--border': 'var(--mantine-color-dark-4)',
    '--mantine-color-dimmed': 'var(--mantine-color-dark-1)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-1)',
    '--mantine-color-error': 'var(--mantine-color-red-text)',
  };
  for (const name of [...Object.keys(DEFAULT_THEME.colors), 'brand']) {
    if (name === 'dark') continue;
    const deep = `color-mix(in srgb, var(--mantine-color-${name}-9), black 35%)`;
    light[`--mantine-color-${name}-light-color`] = deep;
    light[`--mantine-color-${name}-text`] = deep;
    dark[`--mantine-color-${name}-light-color`] = `var(--mantine-color-${name}-2)`;
    dark[`--mantine-color-${name}-light`] = tint(name, 60);
    dark[`--mantine-color-${name}-light-hover`] = tint(name, 45);
    dark[`--mantine-color-${name}-text`] = `var(--mantine-color-${name}-3)`;
  }
  // A tint of gray would look like the page.
  dark['--mantine-color-gray-light'] = 'var(--mantine-color-dark-5)';
  dark['--mantine-color-gray-light-hover'] = 'var(--mantine-color-dark-4)';
  return { variables: {}, light, dark };
};
