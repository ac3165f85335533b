import { Anchor, Group, SegmentedControl, Stack, type MantineColorScheme, useMantineColorScheme } from '@mantine/core';
import { Page } from '../src/components/Page';
import { Actions, Buttons, Fields } from './Controls';
import { Colors } from './Colors';
import { Charts, Tables } from './Data';
import { Elevation, Icons, Motion, Spacing, Typography } from './Foundations';
import { Section } from './Section';
import { Alerts, Badges, Placeholders } from './Status';

const chapters = [
  { id: 'typography', title: 'Typography', content: <Typography /> },
  { id: 'spacing', title: 'Spacing and corners', content: <Spacing /> },
  { id: 'colors', title: 'Colors', content: <Colors /> },
  { id: 'elevation', title: 'Elevation', content: <Elevation /> },
  { id: 'buttons', title: 'Buttons', content: <Buttons /> },
  { id: 'fields', title: 'Fields', content: <Fields /> },
  { id: 'dialogs', title: 'Dialogs and notifications', content: <Actions /> },
  { id: 'badges', title: 'Badges', content: <Badges /> },
  { id: 'icons', title: 'Icons', content: <Icons /> },
  { id: 'alerts', title: 'Alerts', content: <Alerts /> },
  { id: 'placeholders', title: 'Empty and loading', content: <Placeholders /> },
  { id: 'tables', title: 'Tables and density', content: <Tables /> },
  { id: 'charts', title: 'Charts', content: <Charts /> },
  { id: 'motion', title: 'Motion', content: <Motion /> },
];

/** Shows every part of the design, with the components and the theme of the dashboard. */
export function DesignPage() {
  return (
    <main id="main" tabIndex={-1}>
      <Page title="Design system" hint="Components and theme of the dashboard" actions={<SchemeControl />}>
        <Group component="nav" aria-label="Chapters" gap="sm" mb="lg">
          {chapters.map(({ id, title }) => (
            <Anchor key={id} href={`#${id}`} size="sm">
              {title}
            </Anchor>
          ))}
        </Group>
        <Stack gap="xl">
          {chapters.map(({ id, title, content }) => (
            <Section key={id} id={id} title={title}>
              {content}
            </Section>
          ))}
        </Stack>
      </Page>
    </main>
  );
}

function SchemeControl() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      aria-label="Theme"
      value={colorScheme}
      onChange={(to) => setColorScheme(to as MantineColorScheme)}
      data={[
        { value: 'auto', label: 'System' },
        { value: 'light', label: 'Light' },
        { value: 'dark', label: 'Dark' },
      ]}
    />
  );
}
