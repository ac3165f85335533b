/** The longest time that a page waits for its data before it displays a placeholder, in milliseconds. */
const patience = 100;

/** Waits for the data of a page, but not for long. The page reports errors. */
export async function soon(data: Promise<unknown>[]): Promise<void> {
  await Promise.race([Promise.allSettled(data), new Promise((done) => setTimeout(done, patience))]);
}
