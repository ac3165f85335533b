const escapes = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Text without the escape sequences of terminals, which a page cannot show. */
export const plain = (text: string): string => text.replace(escapes, '').replace(/\r/g, '');
