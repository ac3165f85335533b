import { expect, test } from 'vitest';
import { findLocation } from './failure';

test.each([
  ['  on main.tf line 12, in resource "terraform_data" "fails":', { file: 'main.tf', line: 12 }],
  ['on modules/vm/disk.tf line 3:', { file: 'modules/vm/disk.tf', line: 3 }],
  ['  on .terraform/modules/vscode/main.tf line 4:', undefined],
  ['apply: terraform apply: main.tf:9: local-exec provisioner error: exit status 3', { file: 'main.tf', line: 9 }],
  ['http://example.com/main.tf:9', undefined],
  ['Error: local-exec provisioner error', undefined],
])('%s', (text, want) =>
  expect(findLocation(['Error: Invalid', text, 'on other.tf line 1'].slice(0, 2))).toEqual(want),
);

test('names the first location', () => {
  expect(findLocation(['on a.tf line 1', 'on b.tf line 2'])).toEqual({ file: 'a.tf', line: 1 });
});
