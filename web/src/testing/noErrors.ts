// Fails a test that writes errors to the console: React reports invalid HTML and other faults of components there.
import { afterEach, expect } from 'vitest';

const errors: string[] = [];
console.error = (...args: unknown[]) => errors.push(args.map(String).join(' '));

afterEach(() => expect(errors.splice(0)).toEqual([]));
