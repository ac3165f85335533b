// The CSS variables of colors that the dashboard uses, for the page and for the test of their contrast.

/** A color and the name of its CSS variable. */
export interface Token {
  name: string;
  variable: string;
}

/** The hues of badges, alerts and messages. */
export const hues = ['brand', 'gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue'];

/** The surfaces that text is on. */
export const surfaces: Token[] = [
  { name: 'Page, card', variable: '--mantine-color-body' },
  { name: 'Field, button', variable: '--mantine-color-default' },
  { name: 'Dialog, menu', variable: '--surface-raised' },
  { name: 'Hovered', variable: '--mantine-color-default-hover' },
];

/** The text colors that occur on every surface. */
export const texts: Token[] = [
  { name: 'Text', variable: '--mantine-color-text' },
  { name: 'Dimmed', variable: '--mantine-color-dimmed' },
  { name: 'Placeholder', variable: '--mantine-color-placeholder' },
  { name: 'Link', variable: '--mantine-color-anchor' },
  { name: 'Error', variable: '--mantine-color-error' },
  ...hues.map((hue) => ({ name: `${hue} text`, variable: `--mantine-color-${hue}-text` })),
];

/** Text colors that occur on one surface only. */
export const pairs: { name: string; text: string; surface: string }[] = [
  ...hues.map((hue) => ({
    name: `${hue} badge`,
    text: `--mantine-color-${hue}-light-color`,
    surface: `--mantine-color-${hue}-light`,
  })),
  ...hues.map((hue) => ({
    name: `Text of a ${hue} alert`,
    text: '--mantine-color-bright',
    surface: `--mantine-color-${hue}-light`,
  })),
  ...['filled', 'filled-hover'].flatMap((state) => [
    {
      name: `Primary button, ${state}`,
      text: '--mantine-primary-color-contrast',
      surface: `--mantine-primary-color-${state}`,
    },
    { name: `Red button, ${state}`, text: '--mantine-color-white', surface: `--mantine-color-red-${state}` },
  ]),
];
