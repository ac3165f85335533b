/** Says what is wrong with the name of something; undefined when nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'Give it a name.';
  if (name.length > 32) return 'Use at most 32 characters.';
  if (!/^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/.test(name)) return 'Use letters, digits and single hyphens between them.';
  return undefined;
}

/** A name made of any text: what is allowed of it. */
export function nameOf(text: string): string {
  const parts = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\.(tar|tgz|zip)(\.gz)?$/, '')
    .match(/[a-z0-9]+/g);
  return (parts ?? []).join('-').slice(0, 32).replace(/-$/, '');
}
