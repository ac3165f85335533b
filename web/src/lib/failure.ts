// Finds where a Terraform run failed.

/** A line of a file of a template. */
export interface SourceLocation {
  file: string;
  line: number;
}

// Of Terraform's own text, and of the provisioner's one-line errors: "main.tf:9: Unsupported argument".
const locations = [/\bon (\S+\.tf(?:\.json)?) line (\d+)/, /(?:^|\s)([^\s:]+\.tf(?:\.json)?):(\d+)\b/];

/** Returns the first line of the template that an error names, or undefined. Downloaded modules are not part of it. */
export function findLocation(lines: readonly string[]): SourceLocation | undefined {
  for (const text of lines) {
    for (const pattern of locations) {
      const [, file, line] = pattern.exec(text) ?? [];
      if (file && !file.startsWith('.terraform/')) return { file, line: Number(line) };
    }
  }
  return undefined;
}
