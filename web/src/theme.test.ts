import { defaultCssVariablesResolver, mergeMantineTheme, DEFAULT_THEME } from '@mantine/core';
import { describe, expect, it } from 'vitest';
import { type Color, contrastRatio, layer, minimum, parseColor } from '../design/contrast';
import { pairs, surfaces, texts } from '../design/tokens';
import { contrast, theme } from './theme';

const merged = mergeMantineTheme(DEFAULT_THEME, theme);
const defaults = defaultCssVariablesResolver(merged);
const own = contrast(merged);

/** Returns the CSS variables of a color scheme as MantineProvider sets them. */
const variablesOf = (scheme: 'light' | 'dark') => ({
  ...defaults.variables,
  ...defaults[scheme],
  ...own.variables,
  ...own[scheme],
});

/** Returns the parts of a list in parentheses: "a, b(c, d)" has two. */
const split = (list: string) => list.split(/,(?![^(]*\))/).map((part) => part.trim());

/** Resolves references and color-mix(in srgb, …) of a CSS value to a color. */
function resolve(css: string, variables: Record<string, string>): Color {
  const [, name] = /^var\((--[\w-]+)\)$/.exec(css) ?? [];
  if (name) {
    const value = variables[name];
    if (value === undefined) throw new Error(`${name} is not set`);
    return resolve(value, variables);
  }
  const [, inner] = /^color-mix\(in srgb, (.*)\)$/.exec(css) ?? [];
  if (!inner) return parseColor({ black: '#000', white: '#fff' }[css] ?? css);
  const [first = '', second = ''] = split(inner);
  const [, color = '', percent = ''] = /^(.*) (\d+)%$/.exec(second) ?? [];
  const [r, g, b] = resolve(color, variables);
  return layer([r, g, b, Number(percent) / 100], resolve(first, variables));
}

describe.each(['light', 'dark'] as const)('contrast in the %s scheme', (scheme) => {
  const variables = variablesOf(scheme);
  const page = resolve('var(--mantine-color-body)', variables);
  const ratio = (text: string, surface: string) =>
    contrastRatio(resolve(`var(${text})`, variables), layer(resolve(`var(${surface})`, variables), page));

  it.each(surfaces)('of every text on $name', ({ variable }) => {
    const low = texts.filter((text) => !(ratio(text.variable, variable) >= minimum));
    expect(low.map((text) => `${text.name} ${ratio(text.variable, variable).toFixed(2)}`)).toEqual([]);
  });

  it.each(pairs)('of $name', ({ text, surface }) => {
    expect(ratio(text, surface)).toBeGreaterThanOrEqual(minimum);
  });
});

describe('contrast', () => {
  it('is as WCAG defines it', () => {
    expect(contrastRatio(parseColor('#000'), parseColor('#fff'))).toBeCloseTo(21, 5);
    expect(contrastRatio(parseColor('#777777'), parseColor('rgb(255, 255, 255)'))).toBeCloseTo(4.478, 3);
    expect(contrastRatio(parseColor('#fff'), parseColor('color(srgb 1 1 1)'))).toBe(1);
  });

  it('counts a translucent text as it looks', () => {
    const half = parseColor('rgba(0, 0, 0, 0.5)');
    expect(contrastRatio(half, parseColor('#fff'))).toBeCloseTo(contrastRatio([0.5, 0.5, 0.5, 1], [1, 1, 1, 1]), 5);
  });
});
