const escapes = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Removes terminal escape sequences from a text. */
export const stripAnsi = (text: string): string => text.replace(escapes, '').replace(/\r/g, '');
