// The contrast between two colors, after WCAG 2.2:
// https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio and https://www.w3.org/TR/WCAG22/#dfn-relative-luminance

/** Red, green and blue from 0 to 1, and the opacity from 0 to 1. */
export type Color = readonly [red: number, green: number, blue: number, alpha: number];

/** The lowest contrast that WCAG AA permits for text (success criterion 1.4.3). */
export const minimum = 4.5;

/** Parses a color as theme.ts or a browser writes it: #rgb, #rrggbb, rgb(), rgba(), color(srgb). */
export function parseColor(css: string): Color {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(css.trim())?.[1];
  if (hex) {
    const step = hex.length / 3;
    const part = (i: number) => parseInt(hex.slice(i * step, (i + 1) * step).repeat(3 - step), 16) / 255;
    return [part(0), part(1), part(2), 1];
  }
  const [, form, inner = ''] = /^(rgba?|color)\((.*)\)$/.exec(css.trim()) ?? [];
  const [r, g, b, alpha = 1] = (inner.match(/[\d.]+(e-?\d+)?/g) ?? []).map(Number);
  if (!form || r === undefined || g === undefined || b === undefined) throw new Error(`unknown color ${css}`);
  const scale = form === 'color' ? 1 : 255;
  return [r / scale, g / scale, b / scale, alpha];
}

/** Returns the color that a translucent color has on an opaque one. */
export function layer([r, g, b, alpha]: Color, [r0, g0, b0]: Color): Color {
  const mix = (top: number, bottom: number) => top * alpha + bottom * (1 - alpha);
  return [mix(r, r0), mix(g, g0), mix(b, b0), 1];
}

/** Returns the relative luminance of an opaque color. */
function luminance([r, g, b]: Color): number {
  const linear = (part: number) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Returns the contrast ratio of a text on an opaque surface, from 1 to 21. */
export function contrastRatio(text: Color, surface: Color): number {
  const [low = 0, high = 0] = [luminance(layer(text, surface)), luminance(surface)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
