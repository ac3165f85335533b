/** Returns why a resource name is invalid; undefined when it is valid. */
export function validateName(name: string): string | undefined {
  if (name === '') return 'Enter a name.';
  if (name.length > 32) return 'Use at most 32 characters.';
  if (!/^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/.test(name)) return 'Use letters, digits and single hyphens between them.';
  if (/^(new|create)$/i.test(name)) return 'This name is reserved. Choose another name.';
  return undefined;
}

/** Derives a valid name from any text. */
export function suggestName(text: string): string {
  const parts = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\.(tar|tgz|zip)(\.gz)?$/, '')
    .match(/[a-z0-9]+/g);
  return (parts ?? []).join('-').slice(0, 32).replace(/-$/, '');
}
