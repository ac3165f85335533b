import '@mantine/core/styles/Blockquote.css';
import '@mantine/core/styles/Image.css';
import '@mantine/core/styles/Typography.css';
import { Anchor, Blockquote, Code, Image, Table, Text, Title, Typography } from '@mantine/core';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';

// Headings of the text stand below those of the page.
const below = (order: 2 | 3 | 4 | 5) =>
  function Heading({ children }: { children?: React.ReactNode }) {
    return (
      <Title order={order} mt="md" mb={6}>
        {children}
      </Title>
    );
  };

/** A README: what its Markdown says, made of elements. HTML in it is shown as text. */
export default function Readme({ text }: { text: string }) {
  const body = text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, ''); // what is there for machines
  return (
    <Typography style={{ overflowWrap: 'anywhere' }}>
      <Markdown
        remarkPlugins={[remarkGfm]}
        components={{
          h1: below(2),
          h2: below(3),
          h3: below(4),
          h4: below(5),
          h5: below(5),
          h6: below(5),
          p: ({ children }) => <Text my="xs">{children}</Text>,
          a: ({ children, href }) => (
            <Anchor href={href} rel="noreferrer noopener" target={href?.startsWith('#') ? undefined : '_blank'} underline="always">
              {children}
            </Anchor>
          ),
          img: ({ src, alt }) => <Image src={typeof src === 'string' ? src : undefined} alt={alt ?? ''} w="auto" maw="100%" />,
          code: ({ children }) => <Code>{children}</Code>,
          pre: ({ children }) => (
            <pre tabIndex={0} style={{ overflowX: 'auto' }}>
              {children}
            </pre>
          ),
          blockquote: ({ children }) => <Blockquote p="sm">{children}</Blockquote>,
          table: ({ children }) => (
            <Table.ScrollContainer minWidth={300}>
              <Table>{children}</Table>
            </Table.ScrollContainer>
          ),
        }}
      >
        {body}
      </Markdown>
    </Typography>
  );
}
