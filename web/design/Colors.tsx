import { Box, Group, Table, Text, useComputedColorScheme } from '@mantine/core';
import { useCallback, useState } from 'react';
import { contrastRatio, layer, minimum, parseColor } from './contrast';
import { Example } from './Section';
import { hues, pairs, surfaces, texts } from './tokens';

/** Measures the colors of an element as the browser resolves them, again when the color scheme changes. */
function useContrast() {
  const scheme = useComputedColorScheme();
  const [ratio, setRatio] = useState<number>();
  const measure = (element: HTMLElement) => {
    const { color, backgroundColor } = getComputedStyle(element);
    const page = parseColor(getComputedStyle(document.body).backgroundColor);
    setRatio(contrastRatio(parseColor(color), layer(parseColor(backgroundColor), page)));
  };
  const ref = useCallback(
    (element: HTMLElement | null) => {
      if (!element) return;
      // Mantine sets the scheme of the document after this element is attached.
      const frame = requestAnimationFrame(() => measure(element));
      return () => cancelAnimationFrame(frame);
    },
    [scheme], // eslint-disable-line react-hooks/exhaustive-deps -- measures again for another scheme
  );
  return { ref, ratio };
}

/** A sample of a text on a surface, with the contrast as measured in the browser. */
function Sample({ text, surface, children = 'Text' }: { text: string; surface: string; children?: string }) {
  const { ref, ratio } = useContrast();
  const low = ratio !== undefined && ratio < minimum;
  return (
    <Box ref={ref} c={`var(${text})`} bg={`var(${surface})`} px="xs" py={4} data-contrast={ratio?.toFixed(2)}>
      <Text size="sm" span>
        {children} {ratio?.toFixed(1)}
        {low && ' — too low'}
      </Text>
    </Box>
  );
}

/** The palette, and the contrast of each text color on each surface in the current color scheme. */
export function Colors() {
  return (
    <>
      <Example title="Palette">
        {['dark', ...hues].map((hue) => (
          <Group key={hue} gap={4} wrap="nowrap">
            <Text size="sm" w={64}>
              {hue}
            </Text>
            {Array.from({ length: 10 }, (_, shade) => (
              <Box key={shade} h={24} flex={1} bg={`${hue}.${shade}`} title={`${hue} ${shade}`} />
            ))}
          </Group>
        ))}
      </Example>
      <Example title="Text on surfaces" hint={`Contrast measured after WCAG 2.2, at least ${minimum}.`}>
        <Table.ScrollContainer minWidth={640}>
          <Table highlightOnHover={false}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Text</Table.Th>
                {surfaces.map((surface) => (
                  <Table.Th key={surface.name}>{surface.name}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {texts.map((text) => (
                <Table.Tr key={text.name}>
                  <Table.Td>{text.name}</Table.Td>
                  {surfaces.map((surface) => (
                    <Table.Td key={surface.name}>
                      <Sample text={text.variable} surface={surface.variable} />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Example>
      <Example title="Badges, alerts and filled buttons">
        <Group gap="xs">
          {pairs.map(({ name, text, surface }) => (
            <Sample key={name} text={text} surface={surface}>
              {name}
            </Sample>
          ))}
        </Group>
      </Example>
    </>
  );
}
