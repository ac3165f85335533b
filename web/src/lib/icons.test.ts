import { expect, test } from 'vitest';
import { findIcons } from './icons';

const all = [
  { path: '/icon/docker.svg', name: 'docker' },
  { path: '/icon/docker-white.svg', name: 'docker-white' },
  { path: '/emojis/1f433.png', name: 'spouting whale', keywords: 'docker face' },
  { path: '/emojis/1f43b-200d-2744-fe0f.png', name: 'polar bear', keywords: 'arctic white' },
];
const names = (query: string, limit = 10) => findIcons(all, query, limit).map((icon) => icon.name);

test('each query word must be a prefix in the name or the keywords', () => {
  expect(names('')).toHaveLength(4);
  expect(names('white')).toEqual(['docker-white', 'polar bear']);
  expect(names('Docker Whi')).toEqual(['docker-white']);
  expect(names('hale')).toEqual([]);
});

test('names that start with the query come first', () => {
  expect(names('doc')).toEqual(['docker', 'docker-white', 'spouting whale']);
  expect(names('po')).toEqual(['polar bear']);
});

test('returns at most the limit', () => {
  expect(names('', 2)).toHaveLength(2);
  expect(names('doc', 1)).toEqual(['docker']);
});
