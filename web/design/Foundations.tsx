import { Box, Button, Code, Collapse, Group, Paper, SimpleGrid, Text, Title, useMantineTheme } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconAlertCircle,
  IconCheck,
  IconCopy,
  IconDotsVertical,
  IconDownload,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlus,
  IconRefresh,
  IconSearch,
  IconSettings,
  IconTrash,
} from '@tabler/icons-react';
import { Icon } from '../src/components/Icon';
import { Example } from './Section';

const sizes = ['xs', 'sm', 'md', 'lg', 'xl'] as const;

/** The type scale. */
export function Typography() {
  const theme = useMantineTheme();
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Example title="Headings">
        {([1, 2, 3] as const).map((order) => (
          <div key={order}>
            <Title order={2} size={`h${order}`}>
              Workspaces of your team
            </Title>
            <Text size="xs" c="dimmed">
              h{order}, {theme.headings.sizes[`h${order}`].fontSize}, weight {theme.headings.fontWeight}
            </Text>
          </div>
        ))}
      </Example>
      <Example title="Text">
        {sizes.map((size) => (
          <Text key={size} size={size}>
            {size}: the workspace starts in about two minutes
          </Text>
        ))}
        <Text size="sm" fw={600}>
          Strong: the name of a thing
        </Text>
        <Text size="sm" c="dimmed">
          Dimmed: a hint or a second line
        </Text>
        <Code block>coder ssh dev</Code>
      </Example>
    </SimpleGrid>
  );
}

/** Spacing and the radius of corners. */
export function Spacing() {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Example title="Spacing">
        {sizes.map((size) => (
          <Group key={size} gap="sm">
            <Text size="sm" w={32}>
              {size}
            </Text>
            <Box h={16} w={`var(--mantine-spacing-${size})`} bg="var(--mantine-primary-color-filled)" />
          </Group>
        ))}
      </Example>
      <Example title="Corners" hint="md is the default; icons have sm.">
        <Group>
          {sizes.map((size) => (
            <Paper key={size} withBorder radius={size} p="md">
              <Text size="sm">{size}</Text>
            </Paper>
          ))}
        </Group>
      </Example>
    </SimpleGrid>
  );
}

/** The levels of elevation. */
export function Elevation() {
  return (
    <Example title="Levels">
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <Paper withBorder p="md">
          <Text size="sm">Card: a border, no shadow</Text>
        </Paper>
        <Paper shadow="md" p="md" bg="var(--surface-raised)">
          <Text size="sm">Menu, list of choices: shadow md</Text>
        </Paper>
        <Paper shadow="xl" p="md" bg="var(--surface-raised)">
          <Text size="sm">Dialog: shadow xl</Text>
        </Paper>
      </SimpleGrid>
    </Example>
  );
}

const icons = {
  IconPlus,
  IconSearch,
  IconSettings,
  IconPlayerPlay,
  IconPlayerStop,
  IconRefresh,
  IconCopy,
  IconCheck,
  IconDownload,
  IconDotsVertical,
  IconAlertCircle,
  IconTrash,
};

/** Icons of actions, and the pictures of templates and apps. */
export function Icons() {
  return (
    <Example title="Icons" hint="14 px in small buttons, 16 px in others, 18 px in the header, 24 px in alerts.">
      {[14, 16, 18, 24].map((size) => (
        <Group key={size} gap="md">
          <Text size="sm" w={48}>
            {size} px
          </Text>
          {Object.entries(icons).map(([name, Shape]) => (
            <Shape key={name} size={size} aria-hidden />
          ))}
        </Group>
      ))}
      <Group>
        <Text size="sm">A template or app without a picture</Text>
        <Icon src="" name="Data science" />
        <Icon src="" name="Kubernetes" size={24} />
      </Group>
    </Example>
  );
}

/** Motion, which stops when the system asks for less. */
export function Motion() {
  const [open, { toggle }] = useDisclosure();
  return (
    <Example title="Motion" hint="With reduced motion, the text appears at once.">
      <div>
        <Button variant="default" onClick={toggle} aria-expanded={open}>
          {open ? 'Hide details' : 'Show details'}
        </Button>
      </div>
      <Collapse expanded={open}>
        <Text size="sm">Motion explains where something comes from. It never delays an action.</Text>
      </Collapse>
    </Example>
  );
}
