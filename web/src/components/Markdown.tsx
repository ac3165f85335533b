import '@mantine/core/styles/Blockquote.css';
import '@mantine/core/styles/Image.css';
import '@mantine/core/styles/Typography.css';
import { Anchor, Blockquote, Code, Image, Table, Text, Title, Typography } from '@mantine/core';
import ReactMarkdown from 'react-markdown';
import remarkGfm from 'remark-gfm';

// Headings of the text rank below those of the page.
const headingBelow = (order: 2 | 3 | 4 | 5) =>
  function Heading({ children }: { children?: React.ReactNode }) {
    return (
      <Title order={order} mt="md" mb={6}>
        {children}
      </Title>
    );
  };

interface Props {
  text: string;
  /** Renders a description: small, without space around paragraphs. */
  compact?: boolean;
}

/** Renders the Markdown of a README or description. HTML is displayed as text. */
export default function Markdown({ text, compact }: Props) {
  const body = text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, ''); // strip the front matter
  return (
    <Typography
      fz={compact ? 'inherit' : undefined}
      c={compact ? 'inherit' : undefined}
      style={{ overflowWrap: 'anywhere' }}
    >
      <ReactMarkdown
        remarkPlugins={[remarkGfm]}
        components={{
          h1: headingBelow(2),
          h2: headingBelow(3),
          h3: headingBelow(4),
          h4: headingBelow(5),
          h5: headingBelow(5),
          h6: headingBelow(5),
          p: ({ children }) => (
            <Text component="div" inherit={compact} my={compact ? 0 : 'xs'}>
              {children}
            </Text>
          ),
          a: ({ children, href }) => (
            <Anchor
              href={href}
              inherit={compact}
              rel="noreferrer noopener"
              target={href?.startsWith('#') ? undefined : '_blank'}
              underline="always"
            >
              {children}
            </Anchor>
          ),
          img: ({ src, alt }) => (
            <Image src={typeof src === 'string' ? src : undefined} alt={alt ?? ''} w="auto" maw="100%" />
          ),
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
      </ReactMarkdown>
    </Typography>
  );
}
